/** What channels say by themselves, and what their menus show, in German. */
import type { channels as english } from '../english/access.ts';
import type { TranslationOf } from '../template.ts';

export const channels: TranslationOf<typeof english> = {
  'about.ask': 'Etwas fragen; die Antwort wächst gleich hier',
  'argument.ask_prompt': 'Was du wissen oder getan haben willst',
  'argument.ask_file': 'Ein Bild, ein Dokument oder eine Aufnahme dazu',
  'menu.ask': 'frage',
  'menu.ask_about': 'Darüber fragen',
  'menu.summarise': 'Ab hier zusammenfassen',
  'menu.your_question': 'Deine Frage',
  'summary.prompt':
    'Fasse dieses Gespräch von den zitierten Nachrichten an zusammen: wer was gesagt hat, und was beschlossen wurde.',
  'summary.more': 'Nach diesen {messages} Nachrichten wurde noch mehr gesagt.',
  'summary.cut': 'Die Mitte fehlt, weil es zu lang ist.',
  'press.done': 'Erledigt.',
  'press.not_answered': 'Hier antwortet dir dieser Bot nicht.',
  'press.unknown_command': 'Diesen Befehl kenne ich nicht. Nichts wurde geändert.',
  'press.too_late':
    'Es hat zu lange gedauert, dir das Formular zu zeigen. Drück den Knopf bitte noch einmal.',
  'press.not_stored':
    'Deine Nachricht konnte gerade nicht gespeichert werden. Schick sie bitte gleich noch einmal.',
  'read.gone': 'Diese Nachricht kann ich nicht mehr lesen. Benutz den Befehl bitte noch einmal auf ihr.',
  'read.forbidden':
    'Ich darf die Nachrichten dieses Kanals nicht lesen: Ich brauche die Rechte „Kanal anzeigen“ und „Nachrichtenverlauf anzeigen“.',
  'read.not_given':
    '{network} hat mir die Nachrichten dieses Kanals nicht gegeben. Versuch es bitte gleich noch einmal.',
  'write.forbidden':
    'Ich darf nicht schreiben, wo du mich gefragt hast (Kanal {channel}). Wer den Server betreibt, muss mir das Recht „Nachrichten senden“ geben; die Antwort hebe ich eine Stunde lang auf.',
  'privacy.on': {
    one: '{network}: Der Privatsphäre-Modus (privacy mode) ist an, aber die Einstellungen einer Gruppe wollen alle Nachrichten. Schalte ihn bei @BotFather aus (/setprivacy), entferne dann den Bot aus der Gruppe und füge ihn wieder hinzu.',
    other:
      '{network}: Der Privatsphäre-Modus (privacy mode) ist an, aber die Einstellungen von {count} Gruppen wollen alle Nachrichten. Schalte ihn bei @BotFather aus (/setprivacy), entferne dann den Bot aus den Gruppen und füge ihn wieder hinzu.',
  },
  'typing.status': 'schreibt …',
  'form.send': 'Senden',
  'form.close': 'Abbrechen',
  'thread.unnamed': 'Frage',
  'room.encrypted':
    'Dieser Raum ist verschlüsselt, und verschlüsselte Nachrichten kann ich nicht lesen. Schreib mir bitte in einem Raum ohne Verschlüsselung: Sie wird beim Anlegen eines Raums ausgeschaltet und lässt sich später nicht mehr ausschalten.',
};
