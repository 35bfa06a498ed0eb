"""Conformance: values of rankdev beside those of other programs, for the same files.

``make conformance`` builds trec_eval 9 and 10 from source archives, replays NIST's own test files, public leaderboards
and random files, and writes tables of docs/coming-from.md and docs/trust.md. ``python -m tests.conformance --command
'CMD {qrels} {run}'`` compares any program.
"""
