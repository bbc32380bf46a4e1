/** Light, dark, or like the system: the choice is kept on this device and applied before anything is shown. */
import { byId, h } from '../dom.js';
import { say } from '../texts.js';

const STORED_AS = 'parley-theme';
/** @type {Record<string, string>} */
const LABELS = {
  system: say('page.theme.system'),
  light: say('page.theme.light'),
  dark: say('page.theme.dark'),
};

/** Applies what was chosen on this device. */
export function applyTheme() {
  show(kept());
}

/** Offers the choice in the sidebar. */
export function offerThemes() {
  const choice = byId('theme', HTMLSelectElement);
  choice.replaceChildren(...Object.entries(LABELS).map(([value, label]) => h('option', { value }, label)));
  choice.value = kept();
  choice.addEventListener('change', () => {
    try {
      localStorage.setItem(STORED_AS, choice.value);
    } catch {
      // The storage is full or switched off: the choice lives as long as the page.
    }
    show(choice.value);
  });
}

function kept() {
  try {
    const stored = localStorage.getItem(STORED_AS) ?? '';
    return stored in LABELS ? stored : 'system';
  } catch {
    return 'system';
  }
}

/** @param {string} theme */
function show(theme) {
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset['theme'];
  else root.dataset['theme'] = theme;
  // The bars of a phone's browser have the colour of the page.
  for (const bar of document.querySelectorAll('meta[name="theme-color"]')) {
    const own = bar.getAttribute('data-scheme') ?? '';
    bar.setAttribute(
      'media',
      theme === 'system' ? `(prefers-color-scheme: ${own})` : own === theme ? 'all' : 'not all',
    );
  }
}
