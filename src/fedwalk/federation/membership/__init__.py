"""Membership of a federation: keys, certificates, admission requests and passes, the roster."""
