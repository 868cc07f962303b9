"""The authors' own tools: the paper's evaluation, its data, the vectors and the reference pages."""
