"""Running a protocol: its stages, the run folder, the run record, and ledger files."""
