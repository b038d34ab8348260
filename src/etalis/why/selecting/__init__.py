"""Who was taken with whom: the kept history run again, by operators that note what their policy did."""
