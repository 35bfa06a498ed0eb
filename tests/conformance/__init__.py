"""Conformance: values of rankdev beside those of other programs, for the same files.

``make conformance`` builds trec_eval 9 and 10 from source archives, replays NIST's own test files, public leaderboards
and random files, and writes docs/conformance.md. ``python -m tests.conformance --command 'CMD {qrels} {run}'`` compares
any program.
"""
