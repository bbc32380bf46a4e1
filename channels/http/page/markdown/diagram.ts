/**
 * Diagrams in Mermaid, drawn above their code: by a frame that is shut in (`diagrams/frame.ts`) and loaded when the
 * first diagram is looked at. What cannot be drawn, or not in time, stays code.
 */
import { h } from '../dom.ts';
import { keptTheme } from '../person/shown-theme.ts';
import { say } from '../texts.ts';

/** Longest source that is drawn, in UTF-16 units. */
export const MAX_DIAGRAM = 20_000;
/** The frame scrolls beyond this height, in CSS pixels. */
const MAX_HEIGHT = 1_200;
/** A diagram that takes longer, in milliseconds from the frame's load, is given up. */
const DRAWN_WITHIN_MS = 15_000;
const ADDRESS = '/page/diagram.html';

/** What a frame gets. */
export interface DiagramRequest {
  source: string;
  isDark: boolean;
  maxChars: number;
}

/** What it answers: the height of what it has drawn in CSS pixels, 0 for nothing. */
export interface DiagramAnswer {
  height: number;
}

/** Draws the diagram of a block of code above it. */
export function addDiagram(block: HTMLElement, code: HTMLElement, source: string) {
  if (source.length > MAX_DIAGRAM) return;
  const title = say('page.markdown.diagram');
  // The policy of the file has the same sandbox, for whoever opens it alone.
  const frame = h('iframe', {
    class: 'diagram',
    sandbox: 'allow-scripts',
    loading: 'lazy',
    height: 1,
    title,
    src: ADDRESS,
  });
  const end = new AbortController();
  const show = (height: number) => {
    end.abort();
    if (height <= 0) return frame.remove();
    frame.height = String(Math.min(height, MAX_HEIGHT));
    code.hidden = true;
    block.querySelector('.code-head .copy')?.before(codeSwitch(frame, code));
  };
  addEventListener(
    'message',
    ({ source: from, data }: MessageEvent<Partial<DiagramAnswer> | null>) => {
      if (!frame.isConnected && frame.contentWindow === null) end.abort();
      else if (from === frame.contentWindow) show(Number(data?.height) || 0);
    },
    { signal: end.signal },
  );
  frame.addEventListener('load', () => {
    const request: DiagramRequest = { source, isDark: isDark(), maxChars: MAX_DIAGRAM };
    // The frame has no origin to name, and its address cannot change: the page's policy allows it no other.
    frame.contentWindow?.postMessage(request, '*');
    const timer = setTimeout(() => show(0), DRAWN_WITHIN_MS);
    end.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  code.before(frame);
}

/** A button that shows the code in place of the diagram, and back. */
function codeSwitch(frame: HTMLElement, code: HTMLElement) {
  const button = h('button', { type: 'button', class: 'copy' }, say('page.markdown.show_code'));
  button.addEventListener('click', () => {
    code.hidden = !code.hidden;
    frame.hidden = !code.hidden;
    button.textContent = say(code.hidden ? 'page.markdown.show_code' : 'page.markdown.diagram');
  });
  return button;
}

function isDark() {
  const theme = keptTheme();
  return theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
}
