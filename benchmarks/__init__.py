"""How fast deniable is, beside other packages and the machine itself: ``make bench``."""
