"""`preview`: a folder of pages on which people look at a dataset, play its samples, and answer as a model would.

dataset.py    the dataset that is shown: its rows, slice by slice
choosing.py   which samples get pictures
pictures.py   a slice's pictures: small ones for the list, and those that playing needs
answers.py    what models said at the first turn, and why a sample is in or out
writing.py    the gallery's folder
study.py      the other folder: samples for a person to answer, without a hint
folder.py     how both are written: pages and styles, data as scripts, what is superseded removed

The pages themselves are in manifests/gallery/.
"""
