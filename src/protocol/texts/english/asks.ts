/** English texts of the page about what waits for a person: the form that changes a call, and questions of others. */

export const pageAsks = {
  'page.approval.edit': 'Edit',
  'page.approval.edit_approve': 'Approve with changes',
  'page.approval.edit_json': 'This must be JSON; empty leaves it out.',
} as const;
