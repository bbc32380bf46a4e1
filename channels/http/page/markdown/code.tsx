/** Code of an answer: with its language, its colours and a button that copies it; a diagram drawn in its place. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../failures/in-place.ts';
import { CopyButton } from '../parts/copy.tsx';
import { later } from '../parts/later.tsx';
import { say } from '../texts.ts';

/**
 * A growing block is drawn again with each chunk: it is coloured once it has stayed the same for this long, in
 * milliseconds.
 */
const SETTLED_AFTER_MS = 120;

const Diagram = later(
  async () => (await import('./diagram.tsx')).Diagram,
  // The code can be read without its diagram.
  (error) => say('page.markdown.not_drawn', { why: messageOf(error) }),
);

/** True for the language of diagrams. */
export function isDiagram(language: string): boolean {
  return language.toLowerCase() === 'mermaid';
}

/** The text in its colours, as far as it has been coloured; `problem` says why it cannot be. */
function useColours(
  text: string,
  language: string,
): {
  parts: ComponentChildren;
  problem: string | undefined;
} {
  const [state, setState] = useState<{ text: string; parts?: ComponentChildren; problem?: string }>({ text });
  useEffect(() => {
    if (language === '') return undefined;
    const colour = async (): Promise<void> => {
      try {
        const { coloured } = await import('./code-colours.tsx');
        setState({ text, parts: await coloured(text, language) });
      } catch (error) {
        // The code can be read without colours.
        setState({ text, problem: say('page.markdown.uncoloured', { why: messageOf(error) }) });
      }
    };
    const timer = setTimeout(() => void colour(), SETTLED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text, language]);
  const { parts = text, problem } = state.text === text ? state : {};
  return { parts, problem };
}

interface CodeProps {
  language: string;
  text: string;
  /** It is a whole diagram. */
  isDrawn: boolean;
}

export function Code({ language, text, isDrawn }: CodeProps): JSX.Element {
  const { parts, problem } = useColours(text, language);
  const [diagram, setDiagram] = useState<'none' | 'shown' | 'hidden'>('none');
  const isHidden = diagram === 'shown';
  return (
    <div class="code" dir="ltr">
      <div class="code-head">
        <span>{language}</span>
        {diagram !== 'none' && (
          <button type="button" class="copy" onClick={() => setDiagram(isHidden ? 'hidden' : 'shown')}>
            {say(isHidden ? 'page.markdown.show_code' : 'page.markdown.diagram')}
          </button>
        )}
        <CopyButton text={text} label={say('page.markdown.copy_code')} />
      </div>
      {isDrawn && (
        <Diagram key={text} source={text} isHidden={diagram === 'hidden'} show={() => setDiagram('shown')} />
      )}
      <pre tabIndex={0} role="group" aria-label={say('page.markdown.code')} hidden={isHidden}>
        <code title={problem}>{parts}</code>
      </pre>
    </div>
  );
}
