"""What pages draw only once somebody opens it, opened as a person would."""

ROWS = ("take", "invariance", "attention")
MENUS = ("Link", "Command", "Python", "Figure", "Table", "Report and recipe")
FOLDED = ("every number", "documents opened", "every head")


def menus(test):
    """Open every menu of the row that takes results away."""
    return _opened(test, [f"{row}.{menu}" for row in ROWS for menu in MENUS])


def tables(test):
    """Open every table that is folded up."""
    return _opened(test, FOLDED)


def _opened(test, keys):
    for key in keys:
        test.session_state[key] = True
    return test.run()
