/** One question about a tool call: what would run, with which files, and the buttons that decide it. */
import { ApiError } from '../api.js';
import { h } from '../dom.js';

/** @typedef {import('../api.js').Approval} Approval */

/** The gateway refuses a longer one. */
const MAX_REASON_CHARS = 500;
const ALWAYS_HINT =
  'Approve, and run the same call with the same arguments in this chat without a question from now on. /rules ends it.';
const NOT_KEPT = 'Approved this once: this chat has as many rules as it may have. /rules lists them.';

/**
 * The card of a question, with buttons for who may decide.
 * @param {import('../api.js').Api} api
 * @param {Approval} approval
 * @param {boolean} mayDecide
 * @param {(note?: string) => Promise<void>} decided called once it is decided, here or elsewhere, with what is to be said besides
 */
export function approvalCard(api, approval, mayDecide, decided) {
  const { id, tool, args, files, warning, expiresAt, mayAlways } = approval;
  const errorText = h('p', { class: 'error-text', role: 'alert' });
  const reason = h('input', {
    type: 'text',
    class: 'approval-reason',
    maxlength: MAX_REASON_CHARS,
    'aria-label': 'Reason for denying it',
    placeholder: 'Why not? The model reads it.',
    autocomplete: 'off',
  });
  const deny = () => void decide('denied', reason.value.trim() === '' ? {} : { reason: reason.value.trim() });
  const always = () => void decide('approved', { always: true });
  const buttons = [
    h('button', { type: 'button', class: 'primary', onclick: () => void decide('approved') }, 'Approve'),
    ...(mayAlways
      ? [h('button', { type: 'button', title: ALWAYS_HINT, onclick: always }, 'Always exactly this here')]
      : []),
    h('button', { type: 'button', class: 'danger', onclick: deny }, 'Deny'),
  ];
  /**
   * @param {import('../api.js').ApprovalDecision} decision
   * @param {{ reason?: string, always?: boolean }} [detail]
   */
  const decide = async (decision, detail = {}) => {
    let note;
    for (const button of buttons) button.disabled = true;
    try {
      const { rule } = await api.decideApproval(id, decision, detail);
      if (detail.always === true && rule !== 'stored') note = NOT_KEPT;
    } catch (error) {
      // It was decided elsewhere or has expired: the list shows the outcome.
      if (!(error instanceof ApiError && error.status < 500 && error.status !== 0)) {
        errorText.textContent = error instanceof Error ? error.message : String(error);
        for (const button of buttons) button.disabled = false;
        return;
      }
    }
    await decided(note);
  };
  const until = new Date(expiresAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  return h(
    'section',
    { 'data-approval': id, class: 'approval', 'aria-label': `Approval of ${tool}` },
    h('p', { class: 'approval-title' }, 'May I do this? ', h('code', {}, tool)),
    h('pre', { tabindex: '0' }, withVisibleCharacters(JSON.stringify(args, null, 2))),
    ...files.flatMap(describeFile),
    h('p', {}, warning),
    h(
      'div',
      { class: 'approval-foot' },
      ...(mayDecide ? [...buttons, reason] : [h('span', {}, 'Your token may not decide this.')]),
      h('span', { class: 'quiet' }, `Denied automatically at ${until}.`),
    ),
    errorText,
  );
}

/**
 * A file that the arguments or another file name, with its content where that is short.
 * @param {Approval['files'][number]} file
 */
function describeFile(file) {
  const name = h('code', {}, withVisibleCharacters(file.path));
  const by =
    file.namedIn === undefined ? ['above'] : ['in ', h('code', {}, withVisibleCharacters(file.namedIn))];
  if ('problem' in file)
    return [h('p', {}, 'Named ', ...by, ': ', name, ', which cannot be shown. ', file.problem)];
  const { bytes, sha256, text, mayNameMore } = file;
  const heading = h(
    'p',
    {},
    'Named ',
    ...by,
    ': ',
    name,
    `, ${bytes} bytes, SHA-256 `,
    h('code', {}, sha256),
  );
  const notes = [
    ...(text === undefined ? ['It is too long to be shown, or no text.'] : []),
    ...(mayNameMore === true ? [MAY_NAME_MORE] : []),
  ].map((note) => h('p', {}, note));
  const content = text ? [h('pre', { tabindex: '0' }, withVisibleCharacters(text))] : [];
  return [heading, ...notes, ...content];
}

const MAY_NAME_MORE = 'It may name further files, which are not shown and not part of what you approve.';

/**
 * The text with invisible and direction-changing characters as numbers: what is read is what runs.
 * @param {string} text
 */
function withVisibleCharacters(text) {
  return text.replaceAll(
    /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
