"""Privacy accounting: mechanisms with their privacy maps, the ledger, and sources of randomness. Knows no protocol."""
