"""The methods under scikit-learn's interface, one file each."""
