"""The CI matrix: read from one file, written as workflows, run here job by job, and priced.

Distribution is the CI engine's (shards are its jobs), pytest-split's (which tests go where, by recorded duration) and
pytest-xdist's (processes of one shard). Leaves out how ledgers become one report (``corstone.ledger``).
"""
