"""The batch estimators, which the paper compares with: all rows at once. `thresher` exports them."""
