"""A run of many events, and how long its page takes in a browser."""

from __future__ import annotations

import random
from pathlib import Path

import etalis
from helpers.browser import Browser

PROGRAM = """
big(Card, Amount) <- pay(Card, Amount) where Amount > 900.
pair(Card) <- (pay(Card, _) seq login(Card)) within 5.
alarm rule: alert(Card) <- (big(Card, _) seq pair(Card)) within 100.
"""
# as many frames as steps, one after the other: how long one takes with all that the browser does
PANNED = """new Promise((done) => {
  const span = etalis.now.last - etalis.now.first, before = performance.now(); let left = 24;
  const step = () => {
    if (!left--) return done((performance.now() - before) / 24);
    const by = (left % 2 ? 1 : -1) * span * 0.01 * left, by2 = left % 3 ? 0 : span * 0.005;
    etalis.move(etalis.now.first + by + by2, etalis.now.last + by - by2); requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def run_of(number: int) -> etalis.Engine:
    """Return an engine that has taken so many events of fifty cards."""
    draw = random.Random(19)
    engine = etalis.compile(PROGRAM).engine(policy="recent", justification="full")
    for place in range(number):
        card, at = draw.randrange(50), place / 2
        if draw.random() < 0.6:
            engine.push("pay", card, draw.randrange(1000), at=at)
        else:
            engine.push("login", card, at=at)
    return engine


def first_paint(browser: Browser, path: Path) -> float:
    """Open a page and return after how many milliseconds it had painted what it shows."""
    browser.open(path)
    found = browser.value(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(Math.max("
        "...performance.getEntriesByType('paint').map((entry) => entry.startTime),"
        " performance.getEntriesByType('navigation')[0].loadEventEnd)))))"
    )
    return float(found)


def step_time(browser: Browser, zoom: float) -> float:
    """Return how many milliseconds a step of moving takes in a part of the time line."""
    browser.value(f"etalis.move(etalis.now.first, etalis.now.first + {zoom} * (etalis.now.last - etalis.now.first))")
    return float(browser.value(PANNED))
