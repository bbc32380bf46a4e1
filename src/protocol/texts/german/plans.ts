/** Plans as people handle them, in German. */
import type { plans as english } from '../english/turns.ts';
import type { TranslationOf } from '../template.ts';

export const plans: TranslationOf<typeof english> = {
  'mode.planner': 'das Modell folgt seinem Plan von selbst',
  'mode.teacher': 'jeder Schritt wird erklärt und wartet auf deinen Start',
  'mode.agentic': 'Schritte laufen von selbst, und ein gescheiterter wird repariert',
  'mode.is': 'Modus: {mode}.',
  'mode.line': '{/mode} {mode} - {meaning}',
  'mode.line_now': '{/mode} {mode} - {meaning} (jetzt)',
  'mode.changed': 'Modus: {mode}. Von deiner nächsten Nachricht an gilt: {meaning}.',
  'mode.unknown': 'Einen Modus „{name}“ gibt es nicht. Modi: {modes}.',
  'mode.renamed': 'Einen Modus „{name}“ gibt es nicht. Er heißt jetzt „planner“.',
  'mode.plan_running':
    'Gerade läuft ein Plan: Der Modus lässt sich ändern, sobald er zu Ende ist. {/stop} beendet ihn.',

  'planning.auto': 'das Modell bittet um einen Plan, wenn eine Aufgabe einen braucht',
  'planning.always': 'vor jeder Antwort steht ein Plan',
  'planning.none': 'Hier werden keine Pläne gemacht, deshalb bewirkt der Modus nichts. {why}',
  'planning.off':
    'Im Profil „{profile}“ ist das Planen aus. Setz "planning" in profiles/{profile}/config.json auf "auto", oder wechsle mit {/profile} zu einem anderen Profil.',
  'planning.is': 'Planen im Profil „{profile}“: {planning} ({meaning}).',
  'planning.no_tools': 'Das Profil hat keine Werkzeuge: Jeder Schritt ist Arbeit des Modells selbst.',
  'planning.model_without_tools':
    'Das Modell „{model}“ kann keine Werkzeuge aufrufen: Schritte, die eines brauchen, scheitern in jedem Modus.',
  'planning.cannot_ask':
    'Deshalb kann das Modell nicht von selbst um einen Plan bitten; {/plan} und ein Auftrag macht einen.',
  'planning.model_unknown': 'Was das Modell kann, ist gerade nicht bekannt: Sein Server antwortet nicht.',

  'plan.card_title': '**Plan**',
  'plan.card_tool': 'Werkzeug {name}',
  'plan.card_agent': 'Agent {name}',
  'plan.how_request': '{/plan} und ein Auftrag macht einen Plan und führt nichts davon aus',
  'plan.how_list': '{/plans} zeigt die Pläne dieses Gesprächs',
  'plan.how_run':
    '{/plan} run 2 führt Plan 2 aus, auch noch einmal; dahinter planner, teacher oder agentic für den Modus',
  'plan.how_show': '{/plan} show 2 zeigt seine Karte, wie sie jetzt ist, {/plan} cancel 2 verwirft ihn',
  'plan.how_edit': '{/plan} edit und Änderungen, eine pro Zeile, ändert den neuesten Plan',
  'plan.edit_usage': 'Schreib {/plan} edit und die Änderungen, eine pro Zeile:',
  'plan.edit_reply': 'Antworte auf diese Nachricht oder auf den Plan mit deinen Änderungen, eine pro Zeile:',
  'plan.edit_drop': '`2 drop` nimmt Schritt 2 heraus',
  'plan.edit_move': '`3 before 1` (oder `3 after 1`) verschiebt Schritt 3 vor (oder hinter) Schritt 1',
  'plan.edit_reword': '`2: neue Worte` formuliert Schritt 2 neu',
  'plan.edit_add':
    '`add after 2: Worte` (oder `add before 2:`, oder `add:` für das Ende) fügt einen Schritt hinzu',
  'plan.edit_pressed':
    'Antworte auf den Plan mit deinen Änderungen, etwa „2 drop“, „3 before 1“ oder „2: neue Worte“.',
  'plan.not_understood': '{problem} Nichts wurde geändert. So werden Änderungen geschrieben:',
  'plan.unchanged': '{problem} Nichts wurde geändert.',
  'plan.changed': 'Der Plan ist geändert.',
  'plan.changed_next': 'Der Plan ist geändert. Das gilt vom nächsten Schritt an.',
  'plan.cancelled': 'Der Plan ist verworfen; nichts davon läuft.',
  'plan.none': 'In diesem Gespräch gibt es keine Pläne. {/plan} und ein Auftrag macht einen.',
  'plan.none_running': 'In diesem Gespräch gibt es keinen Plan.',
  'plan.no_number': 'Einen Plan {number} gibt es in diesem Gespräch nicht. {/plans} zeigt sie alle.',
  'plan.line': {
    one: '{number}. {goal} ({count} Schritt, {state})',
    other: '{number}. {goal} ({count} Schritte, {state})',
  },
  'plan.older': {
    one: '{count} älterer steht nicht in der Liste; seine Nummer gilt weiter.',
    other: '{count} ältere stehen nicht in der Liste; ihre Nummern gelten weiter.',
  },
  'plan.run_again': '{/plan} run {number} führt Plan {number} aus, auch noch einmal.',
  'plan.run_times': { one: 'einmal ausgeführt', other: '{count}-mal ausgeführt' },
  'plan.stored': 'nicht begonnen',
  'plan.running': 'läuft',
  'plan.paused': 'angehalten',
  'plan.completed': 'fertig',
  'plan.state_cancelled': 'abgebrochen',

  'plan.form_title': 'Den Plan ändern',
  'plan.form_steps': 'Schritte',
  'plan.form_help': 'Zeilen ändern, löschen oder verschieben; eine Zeile ohne Nummer ist ein neuer Schritt.',
  'plan.form_same': 'Der Plan ist, wie er war: Im Formular wurde nichts geändert.',

  'plan.gone': 'Diesen Plan gibt es nicht mehr.',
  'plan.gone_press': 'Diesen Plan gibt es nicht mehr. Nichts wurde geändert.',
  'plan.other_version':
    'Dieser Plan hat sich inzwischen geändert. Er hat jetzt die Version {version}; sieh ihn dir an und versuch es noch einmal. Nichts wurde geändert.',
  'plan.other_card':
    'Dieser Plan hat sich inzwischen geändert. Seine Karte zeigt ihn, wie er jetzt ist; nichts ist geschehen.',
  'plan.busy': 'Der Plan ändert sich gerade zu schnell. Nichts wurde geändert; versuch es noch einmal.',
  'plan.thinking_need': 'Braucht das einen Plan?',
  'plan.thinking_again': 'Ein zweiter Blick',
  'plan.thinking_plan': 'Der Plan',
  'plan.thinking_some': 'Ein Schritt des Plans',
  'plan.thinking_step': 'Schritt {number}: {description}',
  'plan.begun': 'Der Plan hat begonnen: {/stop} beendet ihn.',
  'plan.over_unchangeable':
    'Dieser Plan ist zu Ende und lässt sich nicht mehr ändern. {/plans} zeigt die, die noch einmal laufen können.',
  'plan.planner_fixed':
    'Im Modus planner folgt das Modell seinem Plan von selbst: Er lässt sich nur ändern, bevor er läuft.',
  'plan.planner_stops':
    'Im Modus planner folgt das Modell seinem Plan von selbst; er lässt sich nur beenden.',
  'plan.edits_wait': 'Schon {most} Änderungen warten auf den nächsten Schritt; warte, bis er beginnt.',
  'plan.not_begun':
    'Dieser Plan hat noch nicht begonnen. {/run} oder seine Karte startet ihn, {/plan} cancel verwirft ihn.',
  'plan.over': 'Dieser Plan ist zu Ende.',
  'plan.stopped': 'Der Plan ist beendet.',
  'plan.step_runs': 'Der Schritt läuft.',
  'plan.continues': 'Der Plan geht weiter.',
  'plan.no_step_waits': 'Der Plan läuft; kein Schritt wartet auf dich.',
  'plan.will_not_pause': 'Der Plan hält nicht an.',
  'plan.already_waiting': 'Der Plan wartet schon.',
  'plan.already_pauses': 'Der Plan hält schon vor seinem nächsten Schritt an.',
  'plan.pauses': 'Der Plan hält vor seinem nächsten Schritt an.',
  'plan.no_step_left': 'Es ist kein Schritt mehr übrig.',
  'plan.at_another_step': 'Der Plan ist schon bei einem anderen Schritt. Nichts wurde geändert.',
  'plan.step_skipped': 'Der Schritt wird übersprungen.',
  'plan.already_skipped': 'Schritt {number} wird schon übersprungen.',
  'plan.skip_running':
    'Schritt {number} läuft gerade. Wenn er scheitert, wird er übersprungen statt repariert.',
  'plan.skips': 'Schritt {number} wird übersprungen.',
  'plan.runs': 'Der Plan läuft.',
  'plan.runs_stepwise': 'Der Plan läuft Schritt für Schritt.',
  'plan.say_planner': 'Folge dem Plan.',
  'plan.say_agentic': 'Führe den Plan aus.',
  'plan.say_teacher': 'Führe den Plan Schritt für Schritt aus.',
  'plan.started_already':
    'Dieser Lauf wurde schon gestartet. Den nächsten startet die Karte unter seinem Namen.',
  'plan.too_many_runs': 'Dieser Plan lief schon {most}-mal, mehr geht nicht. {/plan} macht einen neuen.',
  'plan.no_steps': 'Dieser Plan hat keine Schritte.',
  'plan.already_running':
    'In diesem Gespräch läuft gerade ein Plan. Warte, bis er zu Ende ist, oder beende ihn mit {/stop}.',
  'plan.elsewhere':
    'Dieser Plan gehört zu einem Chat auf {channel}: Dort läuft er, mit seiner Karte oder {/plan} run.',

  'edit.none': 'In dieser Nachricht steht keine Änderung.',
  'edit.too_many': 'Höchstens {most} Änderungen gehen auf einmal; das sind {changes}.',
  'edit.no_number': 'Einen Schritt {number} gibt es nicht: Der Plan hat {steps}.',
  'edit.unclear': '„{line}“ habe ich nicht verstanden.',
  'edit.no_steps': 'Ein Plan braucht mindestens einen Schritt; um ihn ganz zu verwerfen, brich ihn ab.',
  'edit.full': {
    one: 'Der Plan hat einen Schritt, mehr kann er nicht haben.',
    other: 'Der Plan hat {count} Schritte, mehr kann er nicht haben.',
  },
  'edit.beside_itself': 'Ein Schritt kann nicht vor oder hinter sich selbst.',
  'edit.too_early': 'Vor Schritt {number} kann keiner stehen: Er hat begonnen oder wartet auf deine Antwort.',
  'edit.asked': 'Schritt {number} wartet auf deine Antwort: Starte ihn oder überspring ihn.',
  'edit.begun': 'Schritt {number} hat begonnen und lässt sich nicht mehr ändern.',
  'edit.no_step': 'Einen Schritt „{id}“ hat der Plan nicht.',
  'edit.empty': 'Ein Schritt braucht Worte.',
  'edit.too_long': 'Ein Schritt darf {most} Zeichen haben; das sind {length}.',
};
