/*** What people read about budgets. */
export const budgets = {
  'budget.tokens': '{amount} tokens',
  'budget.money': '{amount}',
  'budget.a_day': 'a day',
  'budget.a_month': 'a month',
  'budget.of_person': 'of {subject}',
  'budget.of_profile': 'of the profile {subject}',
  'budget.of_schedule': 'of the schedule {subject}',
  'budget.of_plan': 'of the plan {subject}',
  'budget.of_total': 'for everything together',
  'budget.asks':
    '**The budget is used up.** An answer needs more than the {limit} {period} {whose}: {spent} of it is spent or reserved. Unless you add something, nothing more is written under this budget until {reset} UTC.',
  'budget.how': {
    one: 'You can also reply with another amount, such as `5`. If nobody answers within {count} minute, the answer is not written.',
    other:
      'You can also reply with another amount, such as `5`. If nobody answers within {count} minutes, the answer is not written.',
  },
  'budget.add': 'Add {amount}',
  'budget.other': 'Another amount',
  'budget.refuse': 'Refuse',
  'budget.added': '{amount} added.',
  'budget.waits': {
    one: 'A budget is used up, so your answer waits for an owner to add to it, up to {count} minute.',
    other: 'A budget is used up, so your answer waits for an owner to add to it, up to {count} minutes.',
  },
  'budget.nearly':
    'Most of a budget is used: 80% of the {limit} {period} {whose}. Before it is exceeded, I ask. It starts again at {reset} UTC.',
  'budget.used_up': 'The budget of {limit} {period} {whose} is used up; it starts again at {reset} UTC.',
  'budget.no_price':
    'The model "{model}" has no price, so a budget in money cannot count it. Set its input and output under prices.models in config.json (0 if it costs nothing), or those of "*" for all other models.',
} as const;
