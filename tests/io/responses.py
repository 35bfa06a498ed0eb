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
# https://docs.vespa.ai/en/reference/default-result-format.html
VESPA = {
    "root": {
        "id": "toplevel",
        "relevance": 1.0,
        "fields": {"totalCount": 20},
        "coverage": {"coverage": 100, "documents": 40, "full": True, "nodes": 1, "results": 1, "resultsFull": 1},
        "children": [
            {"id": "id:shop:shoe::2", "relevance": 1.3, "source": "shop", "fields": {"documentid": "s2"}},
            {"id": "s1", "relevance": 1.1, "source": "shop", "fields": {"title": "red"}},
            {"id": "index:shop/0/c4ca4238a0b923820dcc509a", "relevance": 0.2, "fields": {"id": "s7"}},
        ],
    }
}
# https://typesense.org/docs/latest/api/search.html
TYPESENSE = {
    "facet_counts": [],
    "found": 20,
    "out_of": 40,
    "page": 1,
    "request_params": {"collection_name": "shop", "per_page": 10, "q": "red shoes"},
    "search_time_ms": 1,
    "hits": [
        {"highlights": [], "document": {"id": item, "title": "red"}, "text_match": 578730123365711993}
        for item in ("s2", "s1", "s7")
    ],
}
# https://www.meilisearch.com/docs/reference/api/search
MEILISEARCH = {
    "hits": [{"id": "s2", "title": "red"}, {"id": "s1", "_rankingScore": 0.9}, {"id": "s7"}],
    "offset": 0,
    "limit": 20,
    "estimatedTotalHits": 20,
    "processingTimeMs": 1,
    "query": "red shoes",
}
# https://www.algolia.com/doc/guides/building-search-ui/going-further/backend-search/in-depth/understanding-the-api-response
ALGOLIA = {
    "hits": [{"title": "red", "objectID": item, "_highlightResult": {}} for item in ("s2", "s1", "s7")],
    "page": 0,
    "nbHits": 20,
    "nbPages": 2,
    "hitsPerPage": 10,
    "processingTimeMS": 1,
    "query": "red shoes",
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
RANK_EVAL_RESPONSE = {
    "metric_score": 0.4,
    "details": {
        "red shoes": {
            "metric_score": 0.6,
            "unrated_docs": [{"_index": "shop", "_id": "s7"}],
            "hits": [
                {"hit": {"_index": "shop", "_id": "s2", "_score": 1.3}, "rating": 1},
                {"hit": {"_index": "shop", "_id": "s1", "_score": 1.1}, "rating": 3},
                {"hit": {"_index": "shop", "_id": "s7", "_score": 0.2}, "rating": None},
            ],
            "metric_details": {"precision": {"relevant_docs_retrieved": 2, "docs_retrieved": 3}},
        }
    },
    "failures": {},
}
# https://github.com/o19s/quepid: app/views/api/v1/export/ratings (show.json, show.basic.csv)
QUEPID_JSON = {
    "queries": [{"query": "red shoes", "ratings": {"s1": 3, "s2": 1, "s9": 0}}, {"query": "x", "ratings": {}}]
}

ENGINES = {
    "elasticsearch": ELASTIC,
    "sorted": SORTED,
    "solr": SOLR,
    "vespa": VESPA,
    "typesense": TYPESENSE,
    "meilisearch": MEILISEARCH,
    "algolia": ALGOLIA,
}
LINES = [{**response, "query": name} for name, response in ENGINES.items()]
FILES = {
    "json": json.dumps(ENGINES).encode(),
    "jsonl": "".join(json.dumps(line) + "\n" for line in LINES).encode(),
}
