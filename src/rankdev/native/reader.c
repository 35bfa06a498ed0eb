/*
 * Reads runs, and joins them with the references while it reads; and reads TREC qrels.
 *
 * A run is text, `query Q0 item rank score tag`, or a table in CSV or JSONL whose lines are all written in the same way. The
 * lines of a query usually stand together. One query at a time its lines are read, put in order, and searched for the reference items of that query; only what a match holds comes
 * out (query, position and place of each item that was found), and no line is remembered. Qrels, `query 0 item grade`,
 * are read in the same way; out come the columns of references.
 *
 * Whatever is unusual (a wrong line, an item twice in a query, text that is not UTF-8) is ODD: the caller reads the
 * file again in its own, slower way, which owns every message. Being wrong about what is unusual therefore costs time
 * and never a number, and equal hashes may pass for equal names where that leads to ODD.
 *
 * Functions keep nothing between calls and share nothing that is written, so that threads may call them at once. Text ends
 * with a newline, at which every loop over its characters stops, and is followed by 64 bytes that may be read, so that as
 * many characters can be looked at together.
 */
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { INTERFACE = 9 }; /* the number of what follows as Python sees it; a library with another one is not used */

enum { FINE = 0, ODD = 1 };

#define JUDGED (INT64_C(1) << 62) /* what items outside the reference have for a rank; see rankdev.measures.ties */
#define UNJUDGED (JUDGED + 1)
enum { LONGEST_TIE = 10000 };  /* a longer tie decides, whatever is in it; see rankdev.core.batches */
enum { LONGEST_NUMBER = 100 }; /* characters; strtod takes its time with more */
enum { LOOKED_AT = 100 };      /* positions in which items that look like others are searched for */
enum { FEW = 40 };             /* rows that are faster put in order one by one */
enum { MOST_PROBES = 1000 };   /* of a table that is at most half full: more are no accident */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the first of eight characters is looked for in the lowest byte"
#endif

typedef unsigned __int128 Wide;

/* Names with a newline between them: ends[i] is where the one after name i begins. */
typedef struct {
    const char *text;
    const int64_t *ends;
} Names;

/* Names of the items of each query, with a newline between them: those of query q begin at begins[q]. */
typedef struct {
    const char *text;
    const int64_t *begins;
} Lists;

/* The references as columns. Query q owns good items good_offsets[q] .. good_offsets[q + 1] and, in the same way, nonrelevant
 * ones, whose places are counted on from those of all good items. Queries from `queries` on are known by name only. */
typedef struct {
    int64_t queries, names;
    Names query;
    uint32_t *slots; /* hash table of the query names: 1 + the query, or 0 */
    uint64_t mask;   /* the number of slots, a power of 2, minus 1 */
    Lists good_items, nonrelevant_items;
    int64_t good;
    const int64_t *good_offsets, *nonrelevant_offsets, *ranks;
    int64_t lettered; /* whether an item's name has anything but digits and marks in it */
} References;

/* How the lines of a table are written: the same text before each of three values and, up to the newline, after the last.
 * A value holds neither control characters nor quotes, nor the separator: a comma in CSV, the escaping backslash in JSON. */
typedef struct {
    const char *around[4];
    int64_t sizes[4]; /* of at most 64 characters */
    int64_t query, item, score; /* which of the values they are: 0, 1, 2 */
    int64_t separator;
    int64_t whole; /* bit i is set where value i is an id without quotes in JSON: a whole number */
} Table;

typedef struct {
    const char *begin, *end;
} Field;

/* What is found in a piece of a run, in columns with room for all that its size allows: one entry per group of lines of one
 * query (the query's index, -1 where there is no reference; how many positions it fills), one per hit, and one per tie of
 * items of different rank (its first position, the one after its last, and the best and worst rank). And of all lines: the
 * hash of their tag, and whether higher scores have better ranks or worse ones. */
typedef struct {
    int64_t groups;
    uint64_t *group_hash, *group_loose_hash;
    int64_t *group_query, *group_length;
    int64_t hits;
    int64_t *hit_query, *hit_position, *hit_place;
    int64_t ties;
    int64_t *tie_query, *tie_begin, *tie_end, *tie_best, *tie_worst;
    uint64_t tag;
    int64_t agrees, opposes;
} Joined;

/* Names as they are written, each followed by a newline, in room for all of them. */
typedef struct {
    char *text;
    int64_t size;
} Written;

/* What is found in a piece of qrels: for each query its name, how many items are good and how many nonrelevant, and how many
 * bytes their names take; for each good item, the best first, name, grade and rank; for each nonrelevant one name and grade,
 * which is 0 or less. */
typedef struct {
    int64_t groups;
    uint64_t *group_hash;
    int64_t *good_count, *good_bytes, *nonrelevant_count, *nonrelevant_bytes;
    Written queries;
    int64_t good;
    double *good_grade;
    int32_t *good_rank;
    Written good_items;
    int64_t nonrelevant;
    double *nonrelevant_grade;
    Written nonrelevant_items;
} Graded;

typedef struct {
    const char *item;
    int64_t size;
    uint64_t hash;
    int64_t place; /* among the references' items; -1 where it is not there */
    double value;  /* a grade; or a score, in single precision as trec_eval compares */
} Row;

/* The lines of one query; memory is used again for the next one. */
typedef struct {
    const char *query;
    int64_t query_size;
    Row *rows;
    int64_t count, room;
    uint32_t *slots; /* hash table of the items: 1 + the row, or 0 */
    uint64_t mask, slot_room;
    uint64_t *lost; /* loose hashes of the reference items that were not returned, as a table; 0 where a slot is free */
    uint64_t lost_mask, lost_room;
    Field tag;      /* of all lines of all queries */
    uint64_t rank;  /* of the last line */
    bool agrees, opposes;
} Group;

/* What a line has besides the values that count. */
typedef struct {
    Field rank, tag;
} Beside;

/* ---- characters ---- */

static inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

static inline const char *skip_blanks(const char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

static inline uint64_t word_at(const char *text, int size)
{
    uint64_t word = 0;
    memcpy(&word, text, (size_t)size);
    return word;
}

#define EVERY_BYTE(byte) (0x0101010101010101u * (byte))

/* Eight characters at a time: those up to the blank are suspects, control characters among them are part of names. */
static inline const char *end_of_field(const char *at)
{
    for (;; at += 8) {
        uint64_t word = word_at(at, 8);
        uint64_t suspects = (word - EVERY_BYTE(' ' + 1)) & ~word & EVERY_BYTE(0x80);
        for (; suspects; suspects &= suspects - 1) {
            int bits = __builtin_ctzll(suspects) & ~7;
            char suspect = (char)(word >> bits);
            if (is_blank(suspect) || suspect == '\n')
                return at + bits / 8;
        }
    }
}

#ifndef __SSE2__
/* Tells which of eight characters are not above one in ASCII: a bit for each. */
static inline uint64_t up_to(uint64_t word, unsigned char highest)
{
    uint64_t above = ((word & EVERY_BYTE(0x7F)) + EVERY_BYTE((uint64_t)(0x7F - highest))) | word;
    return (~above & EVERY_BYTE(0x80)) / 0x80 * 0x0102040810204080u >> 56;
}
#endif

/* Tells which of the next 64 characters are the blank or come before it, and which are newlines: a bit for each. */
static inline void find_blanks(const char *text, uint64_t *blanks, uint64_t *newlines)
{
    *blanks = *newlines = 0;
#ifdef __SSE2__
    for (int i = 0; i < 64; i += 16) {
        __m128i part = _mm_loadu_si128((const __m128i *)(text + i));
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(part, _mm_set1_epi8(' ')), part);
        __m128i newline = _mm_cmpeq_epi8(part, _mm_set1_epi8('\n'));
        *blanks |= (uint64_t)(uint32_t)_mm_movemask_epi8(low) << i;
        *newlines |= (uint64_t)(uint32_t)_mm_movemask_epi8(newline) << i;
    }
#else
    for (int i = 0; i < 64; i += 8) {
        uint64_t word = word_at(text + i, 8);
        *blanks |= up_to(word, ' ') << i;
        *newlines |= up_to(word ^ EVERY_BYTE('\n'), 0) << i;
    }
#endif
}

/* Finds where each field of a plain line ends: of at most 64 characters, with one blank between fields, of which there are
 * `count`; gives where the next line begins, and NULL for every other line. */
static inline const char *plain_line(const char *line, int count, const char **ends)
{
    uint64_t blanks, newlines;
    find_blanks(line, &blanks, &newlines);
    if (!newlines || blanks & blanks << 1 & (newlines ^ (newlines - 1)))
        return NULL;
    blanks &= newlines ^ (newlines - 1);
    for (int i = 0; i < count; i++, blanks &= blanks - 1) {
        if (!blanks)
            return NULL;
        ends[i] = line + __builtin_ctzll(blanks);
        if (!is_blank(*ends[i]) && *ends[i] != '\n')
            return NULL;
    }
    return blanks ? NULL : ends[count - 1] + 1;
}

static bool is_ascii(const char *text, int64_t size)
{
    uint64_t all = 0;
    int64_t at = 0;
    for (; at + 8 <= size; at += 8)
        all |= word_at(text + at, 8);
    return !((all | word_at(text + at, (int)(size - at))) & EVERY_BYTE(0x80));
}

/* Length of the UTF-8 character that begins here; 0 where none does. */
static int utf8_length(const unsigned char *at, int64_t left)
{
    if (at[0] < 0x80)
        return 1;
    int length = at[0] >= 0xC2 && at[0] <= 0xDF ? 2 : (at[0] & 0xF0) == 0xE0 ? 3 : at[0] >= 0xF0 && at[0] <= 0xF4 ? 4 : 0;
    if (length == 0 || length > left)
        return 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xED && at[1] > 0x9F;
    bool too_high = at[0] == 0xF4 && at[1] > 0x8F;
    return overlong || surrogate || too_high ? 0 : length;
}

static bool is_utf8(const char *text, int64_t size)
{
    if (is_ascii(text, size))
        return true;
    for (int64_t at = 0; at < size;) {
        int length = utf8_length((const unsigned char *)text + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

/* ---- names ---- */

static inline uint64_t mixed(uint64_t a, uint64_t b)
{
    Wide product = (Wide)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hash of a name with some bits of every character set. Words overlap at its end, so that nothing past it is read. */
static inline uint64_t hash_with(const char *text, int64_t size, uint64_t bits)
{
    uint64_t hash = (uint64_t)size;
    if (size >= 8) {
        const char *last = text + size - 8;
        for (; text < last; text += 8)
            hash = mixed(hash, word_at(text, 8) | bits);
        return mixed(hash, word_at(last, 8) | bits);
    }
    if (size >= 4)
        return mixed(hash, (word_at(text, 4) << 32 | word_at(text + size - 4, 4)) | bits);
    if (size > 0)
        hash = hash << 24 | (uint64_t)(unsigned char)text[0] << 16 | (uint64_t)(unsigned char)text[size / 2] << 8 |
               (unsigned char)text[size - 1] | (bits & 0xFFFFFF);
    return mixed(hash, 0);
}

static inline uint64_t hash_of(const char *text, int64_t size) { return hash_with(text, size, 0); }

/* Tells that no character of a name is a blank, a control character or past ASCII. */
static inline bool is_graphic(const char *text, int64_t size)
{
    uint64_t odd = 0;
    int64_t at = 0;
    for (; at + 8 <= size; at += 8)
        odd |= word_at(text + at, 8) | (word_at(text + at, 8) - EVERY_BYTE(' ' + 1));
    uint64_t rest = word_at(text + at, (int)(size - at)) | EVERY_BYTE('@') << (8 * (size - at));
    return !((odd | rest | (rest - EVERY_BYTE(' ' + 1))) & EVERY_BYTE(0x80));
}

enum { LOOSE_SIZE = 256 };

/* Keeps the ASCII characters of a name but for blanks, and for those that a combining mark follows: they may elsewhere be
 * part of a character past ASCII. Gives how many there are, of the first ones. */
static int64_t keep_graphic(const char *text, int64_t size, char *kept)
{
    int64_t count = 0;
    bool single = false; /* whether the last one has had no mark yet */
    for (int64_t i = 0; i < size && count < LOOSE_SIZE; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x80) {
            single = c > ' ';
            if (single)
                kept[count++] = (char)c;
        } else if (c >= 0xC0) { /* the first byte of another character */
            count -= single && (c == 0xCC || c == 0xCD);
            single = false;
        }
    }
    return count;
}

/* Hash that names share which differ by case, blanks or Unicode form only, and that others may share; never 0. */
static inline uint64_t loose_hash(const char *text, int64_t size)
{
    char kept[LOOSE_SIZE];
    if (!is_graphic(text, size) || size > LOOSE_SIZE) {
        size = keep_graphic(text, size, kept);
        text = kept;
    }
    return hash_with(text, size, EVERY_BYTE(0x20)) | 1;
}

static inline bool same_name(const char *a, int64_t a_size, const char *b, int64_t b_size)
{
    return a_size == b_size && memcmp(a, b, (size_t)a_size) == 0;
}

static inline int compare_names(const char *a, int64_t a_size, const char *b, int64_t b_size)
{
    int order = memcmp(a, b, (size_t)(a_size < b_size ? a_size : b_size));
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static inline const char *name_at(const Names *names, int64_t i, int64_t *size)
{
    int64_t begin = i ? names->ends[i - 1] : 0;
    *size = names->ends[i] - begin - 1;
    return names->text + begin;
}

/* ---- numbers ---- */

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t WHOLE_POWERS[] = {1u,
                                        10u,
                                        100u,
                                        1000u,
                                        10000u,
                                        100000u,
                                        1000000u,
                                        10000000u,
                                        100000000u,
                                        1000000000u,
                                        10000000000u,
                                        100000000000u,
                                        1000000000000u,
                                        10000000000000u,
                                        100000000000000u,
                                        1000000000000000u,
                                        10000000000000000u,
                                        100000000000000000u,
                                        1000000000000000000u,
                                        10000000000000000000u};

/* digits * 10^power, rounded once, for 0 < digits and -19 <= power <= 19: whole numbers of 128 bits hold all that counts. */
static double rounded_exactly(uint64_t digits, int64_t power)
{
    if (power >= 0)
        return (double)((Wide)digits * WHOLE_POWERS[power]);
    int shift = 64 + __builtin_clzll(digits);
    Wide numerator = (Wide)digits << shift, divisor = WHOLE_POWERS[-power];
    Wide quotient = numerator / divisor; /* of 64 bits or more: the last one only tells whether anything follows */
    return ldexp((double)(quotient | (numerator % divisor != 0)), -shift);
}

/* Any number, whatever the locale of the process. */
static double rounded_by_library(const char *text)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return NAN;
    locale_t before = uselocale(plain);
    double value = strtod(text, NULL);
    uselocale(before);
    freelocale(plain);
    return value;
}

static inline const char *read_digits(const char *at, uint64_t *digits)
{
    for (; is_digit(*at); at++)
        *digits = *digits * 10 + (uint64_t)(*at - '0');
    return at;
}

/* The same for what follows the point, up to eight digits at once where nothing follows them. */
static inline const char *read_decimals(const char *at, const char *end, uint64_t *digits)
{
    int64_t count = end - at;
    if (count < 1 || count > 8)
        return read_digits(at, digits);
    uint64_t word = (word_at(at, 8) ^ EVERY_BYTE('0')) << (64 - 8 * count); /* zeros come before the first */
    if ((word | (word + EVERY_BYTE(0x80 - 10))) & EVERY_BYTE(0x80))
        return read_digits(at, digits);
    word = word * 10 + (word >> 8); /* pairs of digits, then fours, then all */
    word = (word & 0x000000FF000000FFu) * 0x000F424000000064u + (word >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u;
    *digits = *digits * WHOLE_POWERS[count] + (word >> 32);
    return end;
}

/* Reads e5, E-05 and the like, where there is one; NULL where it has no digits. */
static inline const char *read_exponent(const char *at, int64_t *power)
{
    if (*at != 'e' && *at != 'E')
        return at;
    bool negative = at[1] == '-';
    const char *begin = at + 1 + (negative || at[1] == '+');
    uint64_t digits = 0;
    at = read_digits(begin, &digits);
    *power += negative ? -(int64_t)digits : (int64_t)digits;
    return at == begin || at - begin > 9 ? NULL : at;
}

/* Reads a field that is a decimal number to the bits that Python's float gives; false where it is anything else, or not
 * finite. */
static inline bool read_number(const char *at, const char *end, double *value)
{
    const char *begin = at, *point;
    uint64_t digits = 0;
    bool negative = *at == '-';
    at += negative || *at == '+';
    const char *first = at;
    at = point = read_digits(at, &digits);
    if (*at == '.')
        at = read_decimals(at + 1, end, &digits);
    int64_t count = at - first - (at > point), power = -(at - point - (at > point));
    at = read_exponent(at, &power);
    if (at != end || count == 0 || end - begin > LONGEST_NUMBER)
        return false;
    if (count <= 15 && power >= -22 && power <= 22) {
        double exact = (double)digits; /* and so is the power: one operation rounds once */
        *value = power < 0 ? exact / POWERS[-power] : exact * POWERS[power];
    } else if (count <= 19 && digits && power >= -19 && power <= 19) {
        *value = rounded_exactly(digits, power);
    } else {
        *value = rounded_by_library(first);
    }
    if (negative)
        *value = -*value;
    return isfinite(*value);
}

/* ---- rows ---- */

static Row *new_row(Group *group)
{
    if (group->count == group->room) {
        int64_t room = group->room ? 2 * group->room : 256;
        Row *rows = realloc(group->rows, (size_t)room * sizeof(Row));
        if (!rows)
            return NULL;
        group->rows = rows;
        group->room = room;
    }
    return &group->rows[group->count++];
}

static inline void set_item(Row *row, const char *item, const char *end)
{
    row->item = item;
    row->size = end - item;
    row->place = -1;
}

/* Finds the next field; gives where it ends. */
static inline const char *next_field(const char *at, const char **begin)
{
    *begin = skip_blanks(at);
    return end_of_field(*begin);
}

/* Reads any line of a run, after its query: 5 or 6 columns; NULL where it is anything else. */
static const char *read_loose_run_row(const char *at, Row *row, Beside *beside)
{
    const char *begin, *end;
    at = next_field(at, &begin); /* Q0 */
    at = next_field(at, &begin);
    set_item(row, begin, at);
    at = beside->rank.end = next_field(at, &beside->rank.begin);
    end = next_field(at, &begin);
    if (!read_number(begin, end, &row->value))
        return NULL;
    at = beside->tag.end = next_field(end, &beside->tag.begin);
    at = skip_blanks(at);
    return *at == '\n' ? at + 1 : NULL;
}

/* Reads a line of a run whose query has this size. */
static inline const char *read_run_row(const char *line, int64_t query_size, Row *row, Beside *beside)
{
    const char *ends[6], *next = plain_line(line, 6, ends);
    if (next) {
        set_item(row, ends[1] + 1, ends[2]);
        beside->rank = (Field){ends[2] + 1, ends[3]};
        beside->tag = (Field){ends[4] + 1, ends[5]};
        next = read_number(ends[3] + 1, ends[4], &row->value) ? next : NULL;
    } else {
        next = read_loose_run_row(line + query_size, row, beside);
    }
    if (next)
        row->value = (float)row->value;
    return next;
}

/* The same for qrels, 4 columns. */
static const char *read_loose_grade_row(const char *at, Row *row)
{
    const char *begin, *end;
    at = next_field(at, &begin); /* 0 */
    at = next_field(at, &begin);
    set_item(row, begin, at);
    end = next_field(at, &begin);
    at = skip_blanks(end);
    return read_number(begin, end, &row->value) && *at == '\n' ? at + 1 : NULL;
}

static inline const char *read_grade_row(const char *line, int64_t query_size, Row *row)
{
    const char *ends[4], *next = plain_line(line, 4, ends);
    if (!next)
        return read_loose_grade_row(line + query_size, row);
    set_item(row, ends[1] + 1, ends[2]);
    return read_number(ends[2] + 1, ends[3], &row->value) ? next : NULL;
}

/* ---- lines of tables ---- */

/* Finds where a value ends that is followed by this character; NULL where it is empty, padded or holds anything odd. */
static inline const char *end_of_value(const char *begin, char next, char separator)
{
    const char *at = begin;
    for (; *at != next; at++)
        if ((unsigned char)*at < ' ' || *at == '"' || *at == separator)
            return NULL;
    return at > begin && *begin != ' ' && at[-1] != ' ' ? at : NULL;
}

/* Tells whether digits begin as in JSON: with no sign but a minus, no zero before others, and some on both sides of a point. */
static inline bool is_plain_number(const char *at)
{
    at += *at == '-';
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1])))
        return false;
    const char *whole = at;
    while (is_digit(*at))
        at++;
    return at - whole <= 18 && (*at != '.' || is_digit(at[1]));
}

static inline bool is_whole_number(const char *at, const char *end)
{
    if (end - at > 18 || (*at == '0' && end - at > 1))
        return false;
    while (at < end && is_digit(*at))
        at++;
    return at == end;
}

/* Reads a line of a table; gives where the next one begins, or NULL where it is written in another way. */
static inline const char *read_table_row(const char *at, const Table *table, Field *query, Row *row)
{
    Field values[3];
    for (int i = 0; i < 3; i++) {
        if (memcmp(at, table->around[i], (size_t)table->sizes[i]) != 0)
            return NULL;
        values[i].begin = at + table->sizes[i];
        at = values[i].end = end_of_value(values[i].begin, table->around[i + 1][0], (char)table->separator);
        if (!at || (table->whole >> i & 1 && !is_whole_number(values[i].begin, at)))
            return NULL;
    }
    const Field score = values[table->score], item = values[table->item];
    if (memcmp(at, table->around[3], (size_t)table->sizes[3]) != 0 || !is_plain_number(score.begin) ||
        !read_number(score.begin, score.end, &row->value))
        return NULL;
    row->value = (float)row->value;
    set_item(row, item.begin, item.end);
    *query = values[table->query];
    return at + table->sizes[3];
}

static const char *skip_newlines(const char *at, const char *end)
{
    while (at < end && (*at == '\n' || (*at == '\r' && at[1] == '\n')))
        at++;
    return at;
}

/* Reads all lines of a table that follow each other and have the same query, as read_group does for TREC. */
static const char *read_table_group(const char *at, const char *end, const Table *table, Group *group)
{
    group->count = 0;
    while (at < end) {
        Field query;
        Row row;
        const char *next = read_table_row(at, table, &query, &row);
        if (!next)
            return NULL;
        if (group->count == 0) {
            group->query = query.begin;
            group->query_size = query.end - query.begin;
        } else if (!same_name(query.begin, query.end - query.begin, group->query, group->query_size)) {
            break;
        }
        Row *kept = new_row(group);
        if (!kept)
            return NULL;
        *kept = row;
        at = skip_newlines(next, end);
    }
    return at;
}

/* ---- the lines of one query ---- */

static const char *skip_empty_lines(const char *at, const char *end)
{
    while (at < end && (is_blank(*at) || *at == '\n'))
        at++;
    return at;
}

/* Tells whether the field that begins here is this query. Both are in the text: a word with the end of a line in it is
 * unlike any part of a query, so that nothing past the padding is looked at. */
static inline bool begins_with(const char *at, const char *query, int64_t size)
{
    int64_t done = 0;
    for (; done + 8 <= size; done += 8)
        if (word_at(at + done, 8) != word_at(query + done, 8))
            return false;
    uint64_t others = UINT64_MAX << (8 * (size - done));
    if ((word_at(at + done, 8) ^ word_at(query + done, 8)) & ~others)
        return false;
    return is_blank(at[size]) || at[size] == '\n';
}

/* Compares the last two lines of a query: does the higher score have the better rank, or the worse one? */
static void compare_ranks(Group *group, Field rank)
{
    uint64_t value = 0;
    bool whole = rank.end - rank.begin <= 18 && read_digits(rank.begin, &value) == rank.end;
    if (!whole || (group->count > 1 && value == group->rank)) {
        group->agrees = true;
    } else if (group->count > 1) {
        const Row *row = &group->rows[group->count - 1];
        bool falls = row->value < row[-1].value, rises = row->value > row[-1].value, worse = value > group->rank;
        group->agrees = worse ? falls : rises;
        group->opposes |= worse ? rises : falls;
    }
    group->rank = value;
}

/* Looks at the tag, which all lines must share, and at the rank of the line that was read last. */
static inline bool look_beside(Group *group, const Beside *beside)
{
    const Field *tag = &beside->tag, *first = &group->tag;
    int64_t size = tag->end - tag->begin;
    if (!first->begin)
        group->tag = *tag;
    else if (size != first->end - first->begin)
        return false;
    else if (size && size <= 8) /* the padding may be read */
        if ((word_at(tag->begin, 8) ^ word_at(first->begin, 8)) << (64 - 8 * size))
            return false;
    if (size > 8 && memcmp(tag->begin, first->begin, (size_t)size) != 0)
        return false;
    if (!group->agrees)
        compare_ranks(group, beside->rank);
    return true;
}

/* Reads all lines that begin with the same query; gives where the next one begins, or NULL where a line is odd. */
static inline const char *read_group(const char *at, const char *end, bool graded, Group *group)
{
    group->query = at;
    group->query_size = end_of_field(at) - at;
    group->count = 0;
    while (at < end && begins_with(at, group->query, group->query_size)) {
        Row *row = new_row(group);
        if (!row)
            return NULL;
        Beside beside;
        at = graded ? read_grade_row(at, group->query_size, row) : read_run_row(at, group->query_size, row, &beside);
        if (!at || (!graded && !look_beside(group, &beside)))
            return NULL;
        at = skip_empty_lines(at, end);
    }
    return at;
}

/* The higher score first, and of equal ones the higher id. */
static int compare_scores(const void *first, const void *second)
{
    const Row *a = first, *b = second;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return -compare_names(a->item, a->size, b->item, b->size);
}

/* The higher grade first, and of equal ones the first in the file. */
static int compare_grades(const void *first, const void *second)
{
    const Row *a = first, *b = second;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return (a->item > b->item) - (a->item < b->item);
}

static inline void put_in_order(Group *group, int (*compare)(const void *, const void *))
{
    Row *rows = group->rows;
    int64_t ordered = 1;
    while (ordered < group->count && compare(&rows[ordered - 1], &rows[ordered]) <= 0)
        ordered++;
    if (group->count - ordered > FEW) {
        qsort(rows, (size_t)group->count, sizeof(Row), compare);
        return;
    }
    for (; ordered < group->count; ordered++) { /* one by one to where it belongs */
        Row row = rows[ordered];
        int64_t at = ordered;
        for (; at > 0 && compare(&rows[at - 1], &row) > 0; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

/* ---- hash tables: 1 + the index of an entry, 0 where a slot is free ---- */

/* Returns a cleared table that so many entries fill at most by half, in the room of the old one if that suffices; or NULL. */
static void *cleared(void *table, uint64_t *room, uint64_t *mask, int64_t count, size_t size)
{
    uint64_t wanted = 16;
    while (wanted < 2 * (uint64_t)count)
        wanted *= 2;
    if (wanted > *room) {
        free(table);
        table = malloc(wanted * size);
        *room = table ? wanted : 0;
        if (!table)
            return NULL;
    }
    memset(table, 0, wanted * size);
    *mask = wanted - 1;
    return table;
}

static bool make_slots(Group *group)
{
    group->slots = cleared(group->slots, &group->slot_room, &group->mask, group->count, sizeof *group->slots);
    return group->slots != NULL;
}

/* Fills the table of a group's items; false where two have the same hash, or too many nearly so. */
static bool index_items(Group *group)
{
    if (group->count >= UINT32_MAX || !make_slots(group))
        return false;
    for (int64_t i = 0; i < group->count; i++) {
        Row *row = &group->rows[i];
        row->hash = hash_of(row->item, row->size);
        uint64_t at = row->hash & group->mask;
        for (int probes = 0; group->slots[at]; at = (at + 1) & group->mask)
            if (group->rows[group->slots[at] - 1].hash == row->hash || ++probes > MOST_PROBES)
                return false;
        group->slots[at] = (uint32_t)(i + 1);
    }
    return true;
}

static Row *find_item(const Group *group, const char *item, int64_t size)
{
    uint64_t hash = hash_of(item, size);
    for (uint64_t at = hash & group->mask; group->slots[at]; at = (at + 1) & group->mask) {
        Row *row = &group->rows[group->slots[at] - 1];
        if (row->hash == hash)
            return same_name(row->item, row->size, item, size) ? row : NULL; /* a group has each hash once */
    }
    return NULL;
}

static int64_t find_query(const References *known, const char *query, int64_t size, uint64_t hash)
{
    for (uint64_t at = hash & known->mask; known->slots[at]; at = (at + 1) & known->mask) {
        int64_t found = known->slots[at] - 1, found_size;
        const char *name = name_at(&known->query, found, &found_size);
        if (same_name(name, found_size, query, size))
            return found;
    }
    return -1;
}

/* Puts the lines of a query that were read in order, and makes the table of its items; passes on where the next begins, or
 * NULL where something is odd. */
static inline const char *arrange(Group *group, const char *next, int (*compare)(const void *, const void *))
{
    if (!next)
        return NULL;
    put_in_order(group, compare);
    return index_items(group) ? next : NULL;
}

static int finished(Group *group, const char *at)
{
    free(group->rows);
    free(group->slots);
    free(group->lost);
    return at ? FINE : ODD;
}

/* ---- the join ---- */

/* Makes a table for the loose hashes of so many reference items; none where they are not asked for. */
static bool make_lost(Group *group, int64_t count)
{
    group->lost = cleared(group->lost, &group->lost_room, &group->lost_mask, count, sizeof *group->lost);
    return group->lost != NULL;
}

/* Gives the slot of a loose hash, or the free one where it belongs. */
static uint64_t *lost_slot(const Group *group, uint64_t hash)
{
    uint64_t at = hash & group->lost_mask;
    while (group->lost[at] && group->lost[at] != hash)
        at = (at + 1) & group->lost_mask;
    return &group->lost[at];
}

/* Finds the rows of one query's reference items, whose places are counted from `place`; where `loosely`, what is not in the
 * first positions is kept in mind as lost. */
static void find_places(const Lists *items, int64_t query, int64_t place, Group *group, int64_t length, bool loosely)
{
    int64_t at = items->begins[query], last = items->begins[query + 1] - 1;
    for (int64_t size; at < last; place++, at += size + 1) {
        const char *item = items->text + at, *newline = memchr(item, '\n', (size_t)(last - at));
        size = newline ? newline - item : last - at;
        Row *row = find_item(group, item, size);
        if (row)
            row->place = place;
        if (loosely && (!row || row - group->rows >= length)) {
            uint64_t hash = loose_hash(item, size);
            *lost_slot(group, hash) = hash;
        }
    }
}

/* Tells whether an item in the first positions that no reference has looks like one that is not there. */
static bool has_lookalikes(const Group *group, int64_t length)
{
    for (int64_t i = 0; i < length && i < LOOKED_AT; i++)
        if (group->rows[i].place < 0 && *lost_slot(group, loose_hash(group->rows[i].item, group->rows[i].size)))
            return true;
    return false;
}

static inline int64_t rank_of(const References *known, const Row *row)
{
    return row->place < 0 ? UNJUDGED : row->place < known->good ? known->ranks[row->place] : JUDGED;
}

/* Lists the ties that begin in the first positions and hold items of different rank, or so many that anything may be in it. */
static void find_ties(const References *known, int64_t query, const Group *group, int64_t depth, Joined *out)
{
    const Row *rows = group->rows;
    for (int64_t begin = 0, end; begin < group->count && begin < depth; begin = end) {
        end = begin + 1;
        if (end == group->count || rows[end].value != rows[begin].value)
            continue;
        int64_t best = rank_of(known, &rows[begin]), worst = best;
        for (; end < group->count && rows[end].value == rows[begin].value; end++) {
            int64_t rank = rank_of(known, &rows[end]);
            best = rank < best ? rank : best;
            worst = rank > worst ? rank : worst;
        }
        if (end - begin >= LONGEST_TIE) {
            best = 1;
            worst = UNJUDGED;
        }
        if (best < worst) {
            int64_t tie = out->ties++;
            out->tie_query[tie] = query;
            out->tie_begin[tie] = begin;
            out->tie_end[tie] = end;
            out->tie_best[tie] = best;
            out->tie_worst[tie] = worst;
        }
    }
}

/* Joins one query; false where names need another look. */
static bool join_group(const References *known, Group *group, int64_t depth, bool loosely, Joined *out)
{
    uint64_t hash = hash_of(group->query, group->query_size);
    int64_t query = find_query(known, group->query, group->query_size, hash);
    int64_t length = group->count < depth ? group->count : depth, entry = out->groups++;
    out->group_hash[entry] = hash;
    out->group_query[entry] = query;
    out->group_length[entry] = length;
    out->group_loose_hash[entry] = query < 0 ? loose_hash(group->query, group->query_size) : 0;
    if (query < 0 || query >= known->queries)
        return true;
    const int64_t *good = known->good_offsets + query, *nonrelevant = known->nonrelevant_offsets + query;
    if (loosely && !make_lost(group, good[1] - good[0] + nonrelevant[1] - nonrelevant[0]))
        return false;
    find_places(&known->good_items, query, *good, group, length, loosely);
    find_places(&known->nonrelevant_items, query, known->good + *nonrelevant, group, length, loosely);
    if (loosely && has_lookalikes(group, length))
        return false;
    find_ties(known, query, group, depth, out);
    for (int64_t position = 0; position < length; position++)
        if (group->rows[position].place >= 0) {
            int64_t hit = out->hits++;
            out->hit_query[hit] = query;
            out->hit_position[hit] = position;
            out->hit_place[hit] = group->rows[position].place;
        }
    return true;
}

/* ---- references from grades ---- */

static void write_name(Written *names, const char *name, int64_t size)
{
    memcpy(names->text + names->size, name, (size_t)size);
    names->text[names->size + size] = '\n';
    names->size += size + 1;
}

static void write_group(const Group *group, Graded *out)
{
    int64_t good = 0, good_bytes = out->good_items.size, nonrelevant_bytes = out->nonrelevant_items.size;
    int32_t rank = 0;
    for (; good < group->count && group->rows[good].value > 0; good++) {
        const Row *row = &group->rows[good];
        rank += good == 0 || row->value != row[-1].value;
        out->good_grade[out->good] = row->value;
        out->good_rank[out->good++] = rank;
        write_name(&out->good_items, row->item, row->size);
    }
    for (const Row *row = group->rows + good; row < group->rows + group->count; row++) {
        out->nonrelevant_grade[out->nonrelevant++] = row->value;
        write_name(&out->nonrelevant_items, row->item, row->size);
    }
    write_name(&out->queries, group->query, group->query_size);
    out->group_hash[out->groups] = hash_of(group->query, group->query_size);
    out->good_count[out->groups] = good;
    out->good_bytes[out->groups] = out->good_items.size - good_bytes;
    out->nonrelevant_count[out->groups] = group->count - good;
    out->nonrelevant_bytes[out->groups++] = out->nonrelevant_items.size - nonrelevant_bytes;
}

/* ---- what Python calls ---- */

int rankdev_interface(void) { return INTERFACE; }

/* Reads one number from padded text; for the tests, which compare it with Python's. */
int rankdev_read_number(const char *text, double *value)
{
    return read_number(text, end_of_field(text), value) ? FINE : ODD;
}

/* Gives the loose hash of each name. */
void rankdev_loose_hashes(const Names *names, int64_t count, uint64_t *hashes)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t size;
        const char *name = name_at(names, i, &size);
        hashes[i] = loose_hash(name, size);
    }
}

static bool has_letters(const Lists *items, int64_t queries)
{
    bool found = false;
    const unsigned char *text = (const unsigned char *)items->text;
    for (int64_t i = 0; i < items->begins[queries] - 1; i++)
        found |= (text[i] | 0x20) >= 'a' || (text[i] <= ' ' && text[i] != '\n');
    return found;
}

/* Fills the table of query names, whose slots are at least twice as many and 0; and looks at the names of items. */
int rankdev_index_queries(References *known)
{
    known->lettered = has_letters(&known->good_items, known->queries) || has_letters(&known->nonrelevant_items, known->queries);
    for (int64_t i = 0; i < known->names; i++) {
        int64_t size;
        const char *name = name_at(&known->query, i, &size);
        uint64_t at = hash_of(name, size) & known->mask;
        for (int probes = 0; known->slots[at]; at = (at + 1) & known->mask)
            if (++probes > MOST_PROBES)
                return ODD;
        known->slots[at] = (uint32_t)(i + 1);
    }
    return FINE;
}

static Field query_of(const char *line, const Table *table)
{
    Field query = {line, line};
    Row row;
    if (table) {
        read_table_row(line, table, &query, &row);
    } else {
        query.begin = skip_blanks(line);
        query.end = end_of_field(query.begin);
    }
    return query;
}

/* Finds where the lines of the last query begin, not counting a line without its end; 0 where there is no other query. */
int64_t rankdev_last_query(const Table *table, const char *text, int64_t size)
{
    while (size && text[size - 1] != '\n')
        size--;
    const char *query = NULL;
    int64_t query_size = 0, begin = size;
    for (int64_t at = size; at > 0;) {
        int64_t line = at - 1;
        while (line && text[line - 1] != '\n')
            line--;
        Field name = query_of(text + line, table);
        int64_t name_size = name.end - name.begin;
        if (query && name_size && !same_name(name.begin, name_size, query, query_size))
            return begin;
        if (name_size) {
            query = name.begin;
            query_size = name_size;
            begin = line;
        }
        at = line;
    }
    return 0;
}

/* Joins a piece of a run that holds all lines of each of its queries: of a table, or of TREC's lines where that is NULL. */
int rankdev_join(const References *known, const Table *table, const char *text, int64_t size, int64_t depth, Joined *out)
{
    if (size == 0 || text[size - 1] != '\n' || !is_utf8(text, size))
        return ODD;
    Group group = {0};
    bool loosely = known->lettered || table || !is_ascii(text, size);
    const char *end = text + size, *at = table ? skip_newlines(text, end) : skip_empty_lines(text, end);
    while (at && at < end) {
        at = table ? read_table_group(at, end, table, &group) : read_group(at, end, false, &group);
        at = arrange(&group, at, compare_scores);
        if (at && !join_group(known, &group, depth, loosely, out))
            at = NULL;
    }
    out->tag = group.tag.begin ? hash_of(group.tag.begin, group.tag.end - group.tag.begin) : 0;
    out->agrees = group.agrees;
    out->opposes = group.opposes;
    return finished(&group, at);
}

/* Reads a piece of qrels that holds all lines of each of its queries. */
int rankdev_read_grades(const char *text, int64_t size, Graded *out)
{
    if (size == 0 || text[size - 1] != '\n' || !is_utf8(text, size))
        return ODD;
    Group group = {0};
    const char *end = text + size, *at = skip_empty_lines(text, end);
    while (at && at < end)
        if ((at = arrange(&group, read_group(at, end, true, &group), compare_grades)))
            write_group(&group, out);
    return finished(&group, at);
}
