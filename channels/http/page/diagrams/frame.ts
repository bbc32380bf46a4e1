/**
 * Draws one diagram in a frame of its own, `diagram.html`. Its policy shuts it in: it has no origin, so neither the token
 * nor anything else of the page, and no requests. Mermaid needs `style` attributes, which the page itself refuses.
 */
import type { DiagramAnswer, DiagramRequest } from '../markdown/diagram.tsx';

interface Mermaid {
  initialize: (config: Record<string, unknown>) => void;
  render: (id: string, source: string) => Promise<{ svg: string }>;
}

/** Most arrows of a diagram: the time to place them grows faster than their number. */
const MAX_EDGES = 300;

async function draw({ source, isDark, maxChars }: DiagramRequest): Promise<DiagramAnswer> {
  const mermaid: Mermaid = Reflect.get(globalThis, 'mermaid');
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    maxTextSize: maxChars,
    maxEdges: MAX_EDGES,
    theme: isDark ? 'dark' : 'default',
    fontFamily: 'system-ui, sans-serif',
  });
  const { svg } = await mermaid.render('diagram', source);
  document.documentElement.style.colorScheme = isDark ? 'dark' : 'light';
  Object.assign(document.body.style, { margin: '0', textAlign: 'center' });
  document.body.innerHTML = svg;
  return { height: document.body.scrollHeight };
}

addEventListener('message', ({ source, data }: MessageEvent<DiagramRequest>) => {
  if (source !== parent) return;
  // What is no diagram stays code on the page.
  const answer = draw(data).catch(() => ({ height: 0 }));
  // The page's origin is unknown here; a height is no secret.
  void answer.then((message) => parent.postMessage(message, '*'));
});
