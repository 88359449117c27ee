"""Other programs' layouts of the same benchmark: ours to theirs, theirs to ours."""
