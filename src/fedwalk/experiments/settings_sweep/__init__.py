"""Sweeps over any settings of a run (`fedwalk sweep`). The paper's own ones, Figures 7 and 8, are in `../sweep.py`."""
