/** English texts of the page about what waits for a person: the form that changes a call, and questions of others. */

export const pageAsks = {
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
