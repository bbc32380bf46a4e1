/** What people see of a message. */
import { visibleText } from './marks.ts';
import type { Outgoing } from './requests.ts';

/** The buttons or rows of a message. */
export function choicesOf(out: Outgoing): { id: string; title: string }[] {
  if (out.type !== 'interactive') return [];
  const { interactive } = out;
  return interactive.type === 'button'
    ? interactive.action.buttons.map(({ reply }) => reply)
    : interactive.action.sections.flatMap(({ rows }) => rows);
}

/** What people read of a message. */
export function textOf(out: Outgoing): string {
  switch (out.type) {
    case 'text':
      return visibleText(out.text.body);
    case 'interactive':
      return visibleText(out.interactive.body.text);
    case 'template':
      return `[template ${out.template.name}]`;
    case 'image':
      return visibleText(out.image.caption ?? '');
    case 'video':
      return visibleText(out.video.caption ?? '');
    case 'document':
      return visibleText(out.document.caption ?? '');
    default:
      return '';
  }
}
