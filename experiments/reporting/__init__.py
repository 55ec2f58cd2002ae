"""What is made of the results: tables beside the paper's, and statements with a verdict."""
