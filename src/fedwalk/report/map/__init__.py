"""The map of the embedding: two coordinates per vertex, and the data that the page's script draws."""
