/** Requests for approval: the question, its buttons, what became of it, and the rules that approve by themselves. */

export const approvals = {
  'approval.may_i': 'May I do this?',
  'approval.how': {
    one: 'Press a button, or write {/approve} or {/deny}. A reply to this message denies it, and I read the reply as your reason. Without an answer in a minute it will not run.',
    other:
      'Press a button, or write {/approve} or {/deny}. A reply to this message denies it, and I read the reply as your reason. Without an answer in {count} minutes it will not run.',
  },
  'approval.approve': 'Approve',
  'approval.deny': 'Deny',
  'approval.always': 'Always exactly this here',
  'approval.reason': 'Reason',
  'approval.reason_help': 'I read it before I continue. You can leave it empty.',
  'approval.expired_unrun': 'Not run: no one answered in time.',
  'approval.stopped_unrun': 'Not run: stopped.',
  'approval.approved_by': 'Approved by {who}.',
  'approval.denied_by': 'Denied by {who}.',
  'approval.denied_because': 'Denied by {who}: {reason}.',
  'approval.named_above': 'Named above: {path}',
  'approval.named_in': 'Named in {file}: {path}',
  'approval.file_hidden': '{file}, which cannot be shown. {problem}',
  'approval.file': '{file}, {bytes} bytes, SHA-256 {digest}',
  'approval.file_unshown': '{file}. It is too long to show, or is not text.',
  'approval.may_name_more':
    'It may name other files, which are not shown and are not part of what you approve.',

  'decided.denied': 'Denied: it will not run.',
  'decided.approved': 'Approved.',
  'decided.rule_stored':
    'Approved. From now on, exactly this runs here without asking; {/rules} shows and removes it.',
  'decided.rule_full': 'Approved. Not remembered: this chat has {most} rules, see {/rules}.',
  'decided.rule_not_offered': 'Approved. Only this once: it cannot be allowed permanently.',
  'decided.stopped': 'Nothing changed: it was stopped.',
  'decided.already_approved': 'Nothing changed: it was already approved by {who}.',
  'decided.already_denied': 'Nothing changed: it was already denied by {who}.',
  'decided.someone': 'someone',
  'decided.expired': 'This request expired; nothing was run.',
  'decided.unknown': 'This request no longer exists. Nothing was changed.',
  'decided.owners_only': 'Only an owner of this bot can decide this.',
  'decided.nothing': 'There is no pending request here.',
  'decided.reason_cut': 'Only the first {most} characters of your reason were kept.',

  'rules.owners_only': 'In a group, only an owner of this bot can see and remove its rules.',
  'rules.usage': 'Write {/rules}, {/rules} remove and a number of the list, or {/rules} remove all.',
  'rules.unknown': 'There is no such rule here. {/rules} lists them.',
  'rules.removed': {
    one: 'Removed: I will ask again from now on.',
    other: 'Removed {count} rules: I will ask again from now on.',
  },
  'rules.none': 'Nothing that needs approval runs here without asking.',
  'rules.list': 'These calls run here without asking ({/rules} remove and a number removes one):',
  'rules.line': {
    one: '{number}. {call}, since {since} by {who}, used {count} time',
    other: '{number}. {call}, since {since} by {who}, used {count} times',
  },
} as const;
