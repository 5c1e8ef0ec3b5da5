//! Nothing of its own: the tests beside it break the search (feature `on`) and see its results refused.
