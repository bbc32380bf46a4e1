/** Line icons, drawn from their paths (lucide.dev, ISC): a sprite in a file of its own would be one more request. */
import type { JSX } from 'preact';

const PATHS = {
  again: 'M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6',
  archive: 'M3 4h18v4H3zM5 8v12h14V8M10 12h4',
  attach:
    'M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.5-8.5a3.4 3.4 0 0 1 4.8 4.8l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4l7.7-7.7',
  bell: 'M6 16v-5a6 6 0 0 1 12 0v5l2 2H4zM10 21h4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  chevron: 'M6 9l6 6 6-6',
  close: 'M6 6l12 12M18 6L6 18',
  down: 'M12 5v14M6 13l6 6 6-6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  file: 'M7 3h7l5 5v13H7zM14 3v5h5',
  fork: 'M6 3v12M9 18a3 3 0 1 1-6 0a3 3 0 0 1 6 0M21 6a3 3 0 1 1-6 0a3 3 0 0 1 6 0M18 9a9 9 0 0 1-9 9',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8',
  link: 'M9 15l6-6M11 6l1.5-1.5a4.2 4.2 0 0 1 6 6L17 12M13 18l-1.5 1.5a4.2 4.2 0 0 1-6-6L7 12',
  memory: 'M6 4h12v17l-6-4-6 4z',
  menu: 'M4 7h16M4 12h16M4 17h10',
  microphone: 'M12 2a3 3 0 0 0-3 3v7a3 3 0 0 0 6 0V5a3 3 0 0 0-3-3zM19 10v2a7 7 0 0 1-14 0v-2M12 19v3',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  pencil: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  pin: 'M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6',
  plus: 'M12 5v14M5 12h14',
  right: 'M9 6l6 6-6 6',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  send: 'M12 19V5M6 11l6-6 6 6',
  settings: 'M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4',
  signOut: 'M10 4H5v16h5M9 12h11M16 8l4 4-4 4',
  skip: 'M6 8h8a4 4 0 0 1 0 8H8M11 13l-3 3 3 3',
  stop: 'M7 7h10v10H7z',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  undo: 'M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21a8 8 0 0 1 16 0',
  zap: 'M13 3L5 14h6l-1 7 8-11h-6z',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** An icon that says nothing to screen readers: what it stands in has a name. */
export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The sign of the page, where its name stands beside it. */
export function Logo({ size }: { size: number }): JSX.Element {
  const { href } = document.querySelector<HTMLLinkElement>('#icon') ?? { href: '' };
  return <img src={href} alt="" width={size} height={size} />;
}
