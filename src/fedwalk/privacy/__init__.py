"""Privacy that can be checked: mechanisms with their proofs (PROOFS.md), the ledger, and the protocol `ldp`."""
