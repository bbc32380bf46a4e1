/** The choice between light, dark, and like the system, in the sidebar. */
import { byId, h } from '../dom.js';
import { chooseTheme, keptTheme, THEMES } from './shown-theme.js';
import { say } from '../texts.js';

/** Offers the choice. */
export function offerThemes() {
  const choice = byId('theme', HTMLSelectElement);
  choice.replaceChildren(...THEMES.map((value) => h('option', { value }, say(`page.theme.${value}`))));
  choice.value = keptTheme();
  choice.addEventListener('change', () =>
    chooseTheme(THEMES.find((theme) => theme === choice.value) ?? 'system'),
  );
}
