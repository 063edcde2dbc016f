"""Lists, searches and counts: which things a page shows, chosen by filters, without looking at all there are."""
