"""Getting the sources: what there is to get, what is there, how the rest comes. The manifests say what and where."""
