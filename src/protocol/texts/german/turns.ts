/** What a turn says of itself, in German. */
import type { turns as english } from '../english/turns.ts';
import type { TranslationOf } from '../template.ts';

export const turns: TranslationOf<typeof english> = {
  'turn.empty':
    'Das Modell hat eine leere Antwort gegeben. Frag bitte noch einmal, vielleicht mit anderen Worten.',
  'turn.cut_off': '*(abgeschnitten: Die Antwort hat ihre größte Länge erreicht)*',
  'turn.cut_off_unbegun':
    'Das Modell hat seine größte Länge erreicht, bevor es zu antworten begann. Frag bitte nach weniger auf einmal.',
  'turn.filtered': '*(abgeschnitten: Der Inhaltsfilter des Modellservers hat die Antwort beendet)*',
  'turn.filtered_unbegun':
    'Der Inhaltsfilter des Modellservers hat diese Antwort beendet, bevor sie begann. Frag bitte mit anderen Worten.',
  'turn.refused': 'Das Modell hat sich geweigert zu antworten.',
  'turn.stopped': '*(angehalten)*',
  'turn.joined': '*(zusammen mit der Nachricht davor beantwortet)*',
  'turn.interrupted': '*(von deiner nächsten Nachricht unterbrochen)*',
  'turn.limit': {
    one: 'Nach einem Schritt habe ich aufgehört, ohne fertig zu sein; mehr erlaubt dieses Profil nicht (maxIterations). Bisher benutzte Werkzeuge: {tools}.',
    other:
      'Nach {count} Schritten habe ich aufgehört, ohne fertig zu sein; mehr erlaubt dieses Profil nicht (maxIterations). Bisher benutzte Werkzeuge: {tools}.',
  },
  'turn.go_on': 'Schreib „mach weiter“, damit ich weitermache.',
  'turn.model_away': 'Das Modell ist gerade nicht erreichbar, ich versuche es weiter. {why}',
  'turn.no_plan': 'Diese Antwort hat keinen Plan: {why}',
  'turn.no_steps':
    'Das Modell hat keine Schritte geschrieben, deshalb gibt es keinen Plan. Sag genauer, was du willst, oder versuch ein anderes Modell.',
  'turn.plan_made':
    'Von diesem Plan ist noch nichts gelaufen. **Ausführen** startet ihn, **Schritt für Schritt** fragt dich vor jedem Schritt, und **Ändern** sagt dir, wie du ihn vorher änderst.',
  'turn.run_changed':
    'Der Plan wurde geändert oder von jemand anderem gestartet, nachdem dieser Lauf gewünscht war; deshalb hat er nicht begonnen.',
  'turn.busy_next': 'Das Modell ist beschäftigt: Deine Antwort ist als Nächste dran.',
  'turn.busy': {
    one: 'Das Modell ist beschäftigt: Eine Antwort kommt vor deiner.',
    other: 'Das Modell ist beschäftigt: {count} Antworten kommen vor deiner.',
  },
  'turn.omissions': 'Der Server von {model} nimmt nicht alles an, was ich sende. Weggelassen: {parts}.',
  'turn.fewer_tools':
    '{model} liest wenig auf einmal ({tokens} Tokens): {offered} von {all} Werkzeugen bekommt es direkt, die anderen muss es nachschlagen.',
  'turn.no_tools_fit':
    '{model} liest so wenig auf einmal ({tokens} Tokens), dass es ohne Werkzeuge antwortet.',
  'turn.history_left_out':
    'Der Anfang dieser Unterhaltung passt nicht mehr in das, was das Modell auf einmal liest: Es antwortet ohne ihn.',
  'turn.outcome_unknown':
    'Ausgang unbekannt: {tool} wurde unterbrochen und läuft nicht noch einmal. Vielleicht hat es gewirkt, vielleicht nicht.',
  'turn.model_back': 'Das Modell {model} antwortet wieder.',
  'turn.model_instead': 'Das Modell {model} {why}; stattdessen antwortet {instead}.',
  'turn.usual_instead': 'Das übliche Modell {why}; stattdessen antwortet {instead}.',
  'turn.not_spoken':
    'Diese Antwort konnte nicht gesprochen werden: {why} Antworten kommen weiter als Text; {/voice} off beendet die Versuche.',

  'model_fails.unavailable': 'ist nicht erreichbar',
  'model_fails.out_of_memory': 'hat keinen Speicher mehr',
  'model_fails.rate_limited': 'bittet um eine Pause',
  'model_fails.quota_exceeded': 'hat sein Kontingent aufgebraucht',
  'model_fails.unauthorized': 'verweigert den Zugang',
  'model_fails.unknown_model': 'gibt es nicht',
  'model_fails.timeout_first_chunk': 'fängt nicht an zu antworten',
  'model.answers_instead': 'statt seiner antwortet {model}, denn es {why}',
  'model.small_window':
    'ein kleines Fenster von {tokens} Tokens: Werkzeuge, für die kein Platz ist, schlägt es nach',
  'model.only_talks': '{model} kann keine Werkzeuge aufrufen und redet deshalb nur',
  'omission.system_role': 'der eigene Platz der Anweisungen',
  'omission.tool_schemas': 'die Einzelheiten zu den Parametern der Werkzeuge',
  'omission.server_tools': 'die Werkzeuge des MCP-Servers {server}',
  'omission.newest_pictures': 'die neuesten Bilder, die er nicht lesen konnte',
  'omission.pictures': 'alle Bilder',
  'omission.echoes': 'was er selbst mit früheren Antworten geschickt hat',
  'omission.missing_thoughts': 'Antworten ohne Gedanken',
  'omission.missing_signatures': 'Aufrufe ohne Signatur',
  'omission.parallel_calls': 'mehrere Werkzeugaufrufe auf einmal',
  'omission.tool_exchanges': 'die Form früherer Werkzeugaufrufe (sie gehen als Text hinaus)',
  'omission.tools': 'alle Werkzeuge',
  'omission.field': 'das Feld {field}',
  'model.vectors_only': 'Das Modell „{name}“ erzeugt Vektoren und führt keine Gespräche: Wähl ein anderes.',
  'model.omissions': 'seinem Server fehlt: {parts}',
  'model.none': 'keines; {why}',

  'cancelled.completed': 'Die Antwort ist gegeben.',
  'cancelled.cut_off': 'Die Antwort wurde abgeschnitten.',
  'cancelled.filtered': 'Das Modell hat sich geweigert, oder ein Inhaltsfilter hat die Antwort beendet.',
  'cancelled.stopped': 'Angehalten.',
  'cancelled.max_iterations': 'Die Grenze der Schritte ist erreicht.',
  'cancelled.failed': 'Die Antwort ist gescheitert.',
  'cancelled.interrupted': 'Die Antwort wurde unterbrochen.',
  'cancelled.not_resumed': 'Niemand hat ihn rechtzeitig fortgesetzt.',
  'cancelled.not_run': 'Niemand hat Schritt {number} rechtzeitig gestartet.',
  'cancelled.rewritten': 'Die Aufgabenliste wurde neu geschrieben.',

  'cancelled.by_user': 'Auf Wunsch angehalten.',
  'cancelled.before_run': 'Abgebrochen, bevor er lief.',
  'cancelled.again': 'Abgebrochen: Er läuft nicht noch einmal.',
  'cancelled.step_failed': 'Schritt {number} ist gescheitert: {why}',
  'cancelled.still_fails': 'Schritt {number} scheitert auch nach {most} Korrekturen.',
  'cancelled.no_corrections':
    'Der Plan hat seine {most} Korrekturen aufgebraucht, und Schritt {number} scheitert noch immer.',
  'cancelled.no_room': {
    one: 'Der Plan hat nur noch Platz für {count} Schritt, und die Korrektur verlangt mehr.',
    other: 'Der Plan hat nur noch Platz für {count} Schritte, und die Korrektur verlangt mehr.',
  },
  'cancelled.no_step': 'Der Plan hat keinen Schritt „{id}“.',
  'cancelled.correction_failed': 'Der gescheiterte Schritt ließ sich nicht korrigieren. {why}',
  'cancelled.bad_correction': 'Die Antwort des Modells ist keine gültige Korrektur: {detail}',
  'cancelled.no_new_command':
    'Die Antwort des Modells ändert den Schritt, nennt aber seinen neuen Befehl nicht.',
  'cancelled.no_json': 'Die Antwort des Modells enthält kein JSON-Objekt.',
  'cancelled.no_reason': 'ohne Angabe eines Grundes',
  'cancelled.tool_gone': 'Das Werkzeug „{name}“ gibt es nicht mehr.',
  'cancelled.no_call': 'Das Modell hat {name} nicht aufgerufen. Es schrieb: {text}',
  'cancelled.no_result': 'Der Aufruf ergab kein Ergebnis.',
  'cancelled.empty_answer': 'Das Modell hat eine leere Antwort gegeben.',
  'cancelled.unfinished':
    'Der Schritt war nach {most} Modellaufrufen, mehr darf ein Schritt nicht machen, noch nicht fertig.',

  'step.thinking': 'Schritt {number} ist gescheitert; ich überlege, was zu tun ist…',
  'step.again': 'Schritt {number} wird noch einmal versucht.',

  'wait.run': 'Ausführen',
  'wait.skip': 'Überspringen',
  'wait.resume': 'Fortsetzen',
  'wait.stop': 'Beenden',
  'wait.how_step': {
    one: 'Drück einen Knopf, oder schreib {/run} oder {/skip}. Ohne Antwort innerhalb einer Minute wird der Plan abgebrochen.',
    other:
      'Drück einen Knopf, oder schreib {/run} oder {/skip}. Ohne Antwort innerhalb von {count} Minuten wird der Plan abgebrochen.',
  },
  'wait.how_pause': {
    one: 'Drück einen Knopf, oder schreib {/resume} oder {/stop}. Ohne Antwort innerhalb einer Minute wird der Plan abgebrochen.',
    other:
      'Drück einen Knopf, oder schreib {/resume} oder {/stop}. Ohne Antwort innerhalb von {count} Minuten wird der Plan abgebrochen.',
  },
  'wait.was_run': 'Dieser Schritt durfte laufen.',
  'wait.was_skipped': 'Dieser Schritt wurde übersprungen.',
  'wait.was_stopped': 'Der Plan wurde beendet.',
  'wait.expired': 'Niemand hat rechtzeitig geantwortet.',
  'wait.step': 'Schritt {number}',
  'wait.next': '**Als Nächstes: {step}**',
  'wait.next_is': 'Der nächste Schritt: {step}.',
  'wait.paused': 'Der Plan ist vor Schritt {number} angehalten.',

  'risk.it': 'Der Aufruf {what}.',
  'risk.cannot_be_undone': 'tut vielleicht etwas, das sich nicht rückgängig machen lässt',
  'risk.sends':
    'Der Aufruf könnte Text aus diesem Chat an andere schicken, und fremder Text kann der Grund dafür sein ({sources}).',
  'risk.reaches':
    'Der Aufruf wirkt über diesen Chat hinaus, und fremder Text kann der Grund dafür sein ({sources}).',
  'risk.changes': 'Der Aufruf ändert etwas, oder er schickt etwas an andere.',
  'risk.changed_since':
    'Du hast dem schon zugestimmt, aber der Aufruf oder eine Datei, die er nennt, hat sich seitdem geändert: Sieh bitte noch einmal hin.',
  'risk.network_script': 'führt ein Skript aus dem Netz aus',
  'risk.deletes': 'löscht Dateien',
  'risk.disks': 'schreibt auf Datenträger',
  'risk.network': 'greift auf das Netz zu',
  'risk.rights': 'ändert Rechte',
  'risk.ends_programs': 'beendet Programme',
  'risk.endless': 'startet Programme ohne Ende',
  'risk.program': 'führt in der Sandbox ein Programm aus, das die Dateien dieses Chats ändern kann',
  'risk.mcp_call':
    'ruft {tool} des MCP-Servers „{server}“ auf, und das lässt sich vielleicht nicht rückgängig machen',
  'risk.mcp_read': 'liest vom MCP-Server „{server}“, dem nicht vertraut wird',
};
