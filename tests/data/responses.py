"""One answer of each search engine to the query "red shoes": s2, s1, s7; written by hand from its documentation."""

import json

# https://www.elastic.co/guide/en/elasticsearch/reference/current/search-search.html (OpenSearch: the same)
ELASTIC = {
    "took": 5,
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
    "hits": {
        "total": {"value": 20, "relation": "eq"},
        "max_score": 1.3,
        "hits": [
            {"_index": "shop", "_id": "s2", "_score": 1.3, "_source": {"sku": "B2"}},
            {"_index": "shop", "_id": "s1", "_score": 1.3, "_source": {"sku": "B1"}},
            {"_index": "shop", "_id": "s7", "_score": 0.2, "_source": {"sku": "B7"}},
        ],
    },
}
# the same, "sort": [{"price": "asc"}]: https://www.elastic.co/guide/en/elasticsearch/reference/current/sort-search-results.html
SORTED = {
    "took": 1,
    "timed_out": False,
    "hits": {
        "max_score": None,
        "hits": [{"_id": item, "_score": None, "sort": [place]} for place, item in enumerate(["s2", "s1", "s7"])],
    },
}
# https://solr.apache.org/guide/solr/latest/query-guide/response-writers.html#json-response-writer
SOLR = {
    "responseHeader": {"status": 0, "QTime": 0, "params": {"q": "red shoes", "fl": "id,score", "wt": "json"}},
    "response": {
        "numFound": 20,
        "start": 0,
        "maxScore": 1.3,
        "numFoundExact": True,
        "docs": [{"id": "s2", "score": 1.3}, {"id": "s1", "score": 1.1}, {"id": ["s7"], "score": 0.2}],
    },
}
# https://www.elastic.co/guide/en/elasticsearch/reference/current/search-rank-eval.html
RANK_EVAL_REQUEST = {
    "requests": [
        {
            "id": "red shoes",
            "request": {"query": {"match": {"text": "red shoes"}}},
            "ratings": [
                {"_index": "shop", "_id": "s1", "rating": 3},
                {"_index": "shop", "_id": "s2", "rating": 1},
                {"_index": "shop", "_id": "s9", "rating": 0},
            ],
        }
    ],
    "metric": {"precision": {"k": 20, "relevant_rating_threshold": 1}},
}
# https://github.com/o19s/quepid: app/views/api/v1/export/ratings (show.json, show.basic.csv)
QUEPID_JSON = {
    "queries": [{"query": "red shoes", "ratings": {"s1": 3, "s2": 1, "s9": 0}}, {"query": "x", "ratings": {}}]
}

ENGINES = {"elasticsearch": ELASTIC, "sorted": SORTED, "solr": SOLR}
LINES = [{**response, "query": name} for name, response in ENGINES.items()]
FILES = {"json": json.dumps(ENGINES).encode(), "jsonl": "".join(json.dumps(line) + "\n" for line in LINES).encode()}
