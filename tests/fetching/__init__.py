"""How sources are fetched, against a server on this machine."""
