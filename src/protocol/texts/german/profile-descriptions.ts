/** What the fields of a profile mean in German, by their paths, for the form of the page. */
import type { SettingKey } from '../say.ts';

export const GERMAN_PROFILE_SETTINGS: Readonly<Record<SettingKey, string>> = {
  'setting.profiles.$schema': '`../../profile.schema.json`, das der Gateway für Editoren schreibt',
  'setting.profiles.description': 'wofür das Profil ist, in Listen',
  'setting.profiles.usableBy':
    'wer es wählen darf: `owners` (über HTTP: Token mit dem Recht `admin`) oder `everyone`; eine Sitzung behält das Profil, das sie hat',
  'setting.profiles.model': 'Name des Modells; ohne Angabe = das Modell des Gateways',
  'setting.profiles.fallbacks':
    'Modelle, die stattdessen antworten, der Reihe nach versucht, solange jenes nicht erreichbar oder unbekannt ist, ablehnt oder keinen Speicher mehr hat; der Chat erfährt es einmal, und einmal, wenn es zurück ist; kein Modell darf zweimal darin stehen',
  'setting.profiles.maxIterations': 'Aufrufe des Modells in einem Durchgang',
  'setting.profiles.enabledTools':
    'Werkzeuge, die das Modell aufrufen darf; ohne Angabe = die des Standardprofils',
  'setting.profiles.planning':
    'wann ein Plan gemacht wird: `off` (nie), `auto` (wenn das Modell einen verlangt) oder `always` (immer)',
  'setting.profiles.planningEnabled': 'geht `planning` vor: `true` = `always`, `false` = `off`',
  'setting.profiles.planningPhase2Enabled': 'die Analyse prüfen, wo sie das verlangt',
  'setting.profiles.thinkEnabled': 'bei jedem Aufruf ausführliches Nachdenken verlangen',
  'setting.profiles.iterationBudgetEnabled': 'dem Modell sagen, wie viele Aufrufe noch bleiben',
  'setting.profiles.goalAnchoringEnabled': 'das Modell an sein Ziel erinnern',
  'setting.profiles.goalAnchoringInterval': 'Aufrufe zwischen zwei Erinnerungen',
  'setting.profiles.antiStallEnabled': 'das Modell warnen, wenn seine Aufgabenliste stockt',
  'setting.profiles.antiStallThreshold': 'Aufrufe ohne Fortschritt vor dieser Warnung',
  'setting.profiles.stepValidationEnabled':
    'eine Aufgabe nur als erledigt annehmen, wenn gesagt wird, wie sie geprüft wurde',
  'setting.profiles.adaptiveReplanEnabled': 'nach einer gescheiterten Aufgabe einen neuen Plan verlangen',
  'setting.profiles.subagentPlanningEnabled': 'Subagenten dieses Profils planen lassen',
  'setting.profiles.delegatesTo':
    'Profile, deren Subagenten ihre eigenen Werkzeuge haben, auch solche, die diesem fehlen',
  'setting.profiles.subagentTools': 'Werkzeuge seiner Subagenten; leer = `enabledTools`',
  'setting.profiles.subagentMaxIterations': 'Aufrufe des Modells durch einen Subagenten',
  'setting.profiles.compressionEnabled': 'die ältesten Durchgänge langer Gespräche zusammenfassen',
  'setting.profiles.compressionThreshold': 'der Teil des Platzes für den Prompt, ab dem das geschieht',
  'setting.profiles.contextWindow': 'Kontextfenster in Token; geht der Angabe des Servers vor',
  'setting.profiles.maxTokens': 'Token, die für die Antwort frei bleiben',
  'setting.profiles.temperature': 'Temperatur der Auswahl, 0 bis 2',
  'setting.profiles.approvals':
    'welche Aufrufe von Werkzeugen auf einen Menschen warten: `dangerous` die gefährlichen, mit `caution` auch die, die etwas ändern',
};
