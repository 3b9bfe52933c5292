// The order of what a search of these pages finds: pages for users, then names of the reference, then the rest.
// The numbers are those of Sphinx, but for names, which it has before the titles of pages.
var Scorer = {
  score: ([page, , , , score]) => score - (/^contribute\//.test(page) ? 20 : /^measured\/[pt]/.test(page) ? 10 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 5, 1: -5, 2: -10 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
