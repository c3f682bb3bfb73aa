"""The paper's experiment and more, as one command: `ipds reproduce`.

grid.py says what is run, entrants.py by whom (homotopy.py is a peer of our own), instance.py on what, from datasets;
record.py holds the clock, run.py runs one cell, pool.py all of them; published.py reads the paper's curves; tables.py
judges, findings.py says it in sentences; figures.py, theory.py, page.py and report.py show.
"""
