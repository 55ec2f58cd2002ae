"""The online estimators: scikit-learn classifiers and selectors that read the data once. `thresher` exports them."""
