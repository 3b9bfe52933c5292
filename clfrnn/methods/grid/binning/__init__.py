"""Points sorted into the cells of a grid: few at once, many by way of buckets, very many by way of regions."""
