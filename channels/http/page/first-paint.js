/** Runs before anything is painted, as a script that the browser waits for: the look that was chosen on this device. */
import { keptTheme, showTheme } from './person/shown-theme.ts';

showTheme(keptTheme());
