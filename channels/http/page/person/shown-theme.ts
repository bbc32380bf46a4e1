/** Light, dark, or like the system: what was chosen on this device, and how the page shows it. */

const STORED_AS = 'parley-theme';

export const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

/** What was chosen on this device. */
export function keptTheme(): Theme {
  try {
    const storedTheme = localStorage.getItem(STORED_AS);
    return THEMES.find((theme) => theme === storedTheme) ?? 'system';
  } catch {
    return 'system';
  }
}

/** Keeps a choice on this device, and shows it. */
export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(STORED_AS, theme);
  } catch {
    // The storage is full or switched off: the choice lives as long as the page.
  }
  showTheme(theme);
}

/** Shows the page in it. */
export function showTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset['theme'];
  else root.dataset['theme'] = theme;
  // The bars of a phone's browser have the colour of the page.
  for (const bar of document.querySelectorAll('meta[name="theme-color"]')) {
    const scheme = bar.getAttribute('data-scheme') ?? '';
    bar.setAttribute(
      'media',
      theme === 'system' ? `(prefers-color-scheme: ${scheme})` : scheme === theme ? 'all' : 'not all',
    );
  }
}
