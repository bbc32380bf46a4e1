/** The texts of answers and questions on the page, what Markdown becomes there, and of notifications. */

export const pageMarkdown = {
  'page.markdown.copy_code': 'Copy the code',
  'page.markdown.code': 'Code',
  'page.markdown.table': 'Table',
  'page.markdown.copy_table': 'Copy the table',
  'page.markdown.open': 'open',
  'page.markdown.uncoloured': 'Not highlighted: {why}',
  'page.markdown.diagram': 'Diagram',
  'page.markdown.show_code': 'Code',
  'page.markdown.not_drawn': 'Not drawn: {why}',
  'page.markdown.not_typeset': 'Not typeset: {why}',
  'page.markdown.notes': 'Footnotes',
  'page.markdown.note': 'Footnote {number}',
  'page.markdown.note_back': 'Back to the text',
  'page.markdown.picture': 'Picture ({host})',
  'page.markdown.picture_named': 'Picture: {name} ({host})',
} as const;

/** What a browser shows while the page is closed. */
export const notifications = {
  'push.question': 'A question waits for your decision.',
  'push.answer': 'An answer is ready.',
  'push.too_many': 'Notifications are on in too many of your browsers: turn them off in one of those first.',
  'page.push': 'Notifications',
  'page.push.how':
    'This browser can tell you when a question waits for your decision, or when an answer that took long is ready, even while the page is closed.',
  'page.push.on': 'Turn on in this browser',
  'page.push.off': 'Turn off in this browser',
  'page.push.is_on': 'Notifications are on in this browser.',
  'page.push.others': 'Your browsers',
  'page.push.since': 'since {moment}',
  'page.push.remove': 'Turn off',
  'page.push.remove_of': 'Turn off notifications in {client}',
  'page.push.unnamed': 'a browser',
  'page.push.unsupported':
    'This browser cannot show notifications for this page: it needs an address with https, or one on this computer.',
  'page.push.blocked': 'Notifications of this page are blocked: allow them in the settings of the browser.',
} as const;

/** What waits for a person: the form that changes a call, and questions of others. */
export const pageAsks = {
  'page.budget.title': 'Budgets',
  'page.budget.spent': 'Spent',
  'page.budget.reserved': 'Reserved',
  'page.budget.cap': 'Cap',
  'page.budget.resets': 'Starts again',
  'page.budget.person': 'Person',
  'page.budget.profile': 'Profile',
  'page.budget.schedule': 'Schedule',
  'page.budget.plan': 'Plan',
  'page.budget.total': 'Everything together',
  'page.approval.edit': 'Edit',
  'page.approval.edit_approve': 'Approve with changes',
  'page.approval.edit_json': 'This must be JSON; empty leaves it out.',
  'page.ask.of': 'Question of {who}',
  'page.ask.asks': '{who} has me ask you:',
  'page.ask.goes': 'Your answer goes to whoever asks.',
  'page.ask.answer': 'Answer',
  'page.ask.refuse': 'Refuse',
  'page.ask.never': 'Never ask me',
  'page.ask.until': 'It waits until {time}.',
} as const;
