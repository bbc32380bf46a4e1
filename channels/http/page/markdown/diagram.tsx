/**
 * Diagrams in Mermaid, drawn above their code: by a frame that is shut in (`diagrams/frame.ts`) and loaded when the
 * first diagram is looked at. What cannot be drawn, or not in time, stays code.
 */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
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

interface DiagramProps {
  source: string;
  isHidden: boolean;
  show: () => void;
}

/** The frame of a diagram; nothing where it cannot be drawn. */
export function Diagram({ source, isHidden, show }: DiagramProps): JSX.Element | null {
  const frame = useRef<HTMLIFrameElement>(null);
  /** In CSS pixels; 0 = it cannot be drawn. */
  const [height, setHeight] = useState(source.length > MAX_DIAGRAM ? 0 : 1);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const end = (drawnHeight: number): void => {
    clearTimeout(timer.current);
    setHeight(Math.min(drawnHeight, MAX_HEIGHT));
    if (drawnHeight > 0) show();
  };
  useEffect(() => {
    const take = ({ source: from, data }: MessageEvent<Partial<DiagramAnswer> | null>): void => {
      if (from !== null && from === frame.current?.contentWindow) end(Number(data?.height) || 0);
    };
    addEventListener('message', take);
    return () => {
      removeEventListener('message', take);
      clearTimeout(timer.current);
    };
  }, []);
  const ask = (): void => {
    const request: DiagramRequest = { source, isDark: isDark(), maxChars: MAX_DIAGRAM };
    // The frame has no origin to name, and its address cannot change: the page's policy allows it no other.
    frame.current?.contentWindow?.postMessage(request, '*');
    timer.current = setTimeout(() => end(0), DRAWN_WITHIN_MS);
  };
  if (height === 0) return null;
  // The policy of the file has the same sandbox, for whoever opens it alone.
  return (
    <iframe
      ref={frame}
      class="diagram"
      sandbox="allow-scripts"
      loading="lazy"
      height={height}
      title={say('page.markdown.diagram')}
      hidden={isHidden}
      onLoad={ask}
      src={ADDRESS}
    />
  );
}

function isDark(): boolean {
  const theme = keptTheme();
  return theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
}
