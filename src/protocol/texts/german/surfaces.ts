/** Chats that share a conversation, in German. */
import type { surfaces as english } from '../english/access.ts';
import type { TranslationOf } from '../template.ts';

export const surfaces: TranslationOf<typeof english> = {
  'link.how': 'Drück auf „Verbinden“ oder schreib {/link} yes. Sonst lehne ab oder schreib {/link} no.',
  'link.join': 'Verbinden',
  'link.decline': 'Ablehnen',
  'link.joined': 'Verbunden: {where}.',
  'link.declined': 'Abgelehnt, nichts wurde verbunden: {where}.',
  'link.declined_here': 'Abgelehnt: Nichts wurde verbunden.',
  'link.nothing': 'Hier ist nichts gefragt, oder nicht mehr. {/link} gibt dir einen neuen Code.',
  'link.code':
    'Um dieses Gespräch zu teilen, schick innerhalb von zehn Minuten im anderen Chat: {ways}\n\nBevor etwas verbunden wird, frage ich auch hier nach. Gib den Code niemand anderem.',
  'link.asked': 'Ich habe auch dort gefragt: {where}.',
  'link.both_agreed': 'Beide haben zugestimmt: Die Chats sind jetzt ein Gespräch.',
  'link.waiting': 'Danke. Jetzt warte ich noch auf die Antwort von dort: {where}.',
  'link.foreign': 'Hier ist jemand anderes gefragt.',
  'link.full': 'Dieses Gespräch hat schon {most} Chats, mehr gehen nicht.',
  'link.too_many':
    'Dieses Gespräch hat schon so viele Chats, wie es haben kann: Schick vorher in einem davon {/unlink}.',
  'link.admins_only':
    'Nur ein Eigentümer dieses Bots oder ein Administrator dieser Gruppe kann sie verbinden.',
  'link.admins_unknown':
    'Ich kann gerade nicht feststellen, ob du Administrator dieser Gruppe bist. Versuch es später noch einmal, oder bitte einen Eigentümer dieses Bots, sie zu verbinden.',
  'link.has_joined':
    'Dieses Gespräch wird jetzt geteilt mit: {where}. {/surfaces} zeigt seine Chats, {/unlink} trennt einen.',
  'link.unknown': {
    one: 'Diesen Code kenne ich nicht. Tipp ihn so ein, wie er angezeigt wurde; du hast noch einen Versuch.',
    other:
      'Diesen Code kenne ich nicht. Tipp ihn so ein, wie er angezeigt wurde; du hast noch {count} Versuche.',
  },
  'link.expired':
    'Dieser Code gilt nicht mehr, er lebt zehn Minuten. Der Befehl `link` im anderen Chat gibt einen neuen.',
  'link.used': 'Dieser Code wurde schon benutzt. Der Befehl `link` im anderen Chat gibt einen neuen.',
  'link.limited': {
    one: 'Zu viele falsche Codes: Ich nehme hier eine Minute lang keinen an.',
    other: 'Zu viele falsche Codes: Ich nehme hier {count} Minuten lang keinen an.',
  },
  'link.same': 'Dieser Chat teilt dieses Gespräch schon. Gib den Code in dem Chat ein, der dazukommen soll.',
  'link.linked': 'Dieser Chat teilt schon ein anderes Gespräch. Schick vorher {/unlink}.',
  'link.giver_linked':
    'Der Chat, der diesen Code gab, teilt schon ein anderes Gespräch. Schick dort vorher den Befehl `unlink`, oder gib hier einen Code und gib ihn dort ein.',
  'link.web':
    'Beides sind Gespräche im Web, und dort bleibt jedes für sich. Gib den Code in einem Chat eines anderen Netzes ein.',
  'link.explain_join':
    'Dieser Chat soll mit diesem Gespräch verbunden werden: **{where}**. Danach zeigen beide dieselben Fragen und Antworten, und in jedem kann geantwortet, angehalten und zugestimmt werden.',
  'link.explain_entered':
    'Der Code dieses Chats wurde dort eingegeben: Er soll mit diesem Gespräch verbunden werden: **{where}**. Danach zeigen beide dieselben Fragen und Antworten, und in jedem kann geantwortet, angehalten und zugestimmt werden.',
  'link.group_reads_there': 'Alle in dieser Gruppe lesen dann, was dort gesagt wird.',
  'link.group_reads_here': 'Alle in jener Gruppe lesen dann, was hier gesagt wird.',
  'link.stays':
    'Was hier bisher gesagt wurde, bleibt, wie es ist, und gehört nicht zum geteilten Gespräch; {/unlink} bringt es zurück.',
  'link.explain_asked':
    '**{where}**: Dort wurde der Code dieses Chats eingegeben, um sich mit diesem Gespräch zu verbinden. Beide würden dieselben Fragen und Antworten zeigen, und in jedem könnte geantwortet, angehalten und zugestimmt werden.',
  'link.explain_given':
    '**{where}**: Dieser Chat gab den Code und würde sich mit diesem Gespräch verbinden. Beide würden dieselben Fragen und Antworten zeigen, und in jedem könnte geantwortet, angehalten und zugestimmt werden.',
  'link.decline_strangers': 'Wenn du nicht weißt, wer das ist, lehne ab.',

  'unlink.alone': 'Dieser Chat teilt sein Gespräch mit keinem anderen.',
  'unlink.left': 'Dieser Chat ist wieder für sich. Was gemeinsam gesagt wurde, bleibt bei den anderen Chats.',
  'unlink.separated': 'Die Chats sind getrennt. Was gemeinsam gesagt wurde, bleibt hier.',
  'unlink.has_left': 'Nicht mehr in diesem Gespräch: {where}.',
  'unlink.went_on': 'Dieser Chat ist wieder für sich: Das geteilte Gespräch geht anderswo weiter.',
  'unlink.in_the_middle': 'dieser Chat wurde getrennt, bevor die Antwort fertig war',
  'unlink.unreachable':
    'Dorthin kann ich nicht mehr schreiben, deshalb gehört dieser Chat nicht mehr zum Gespräch: {where}.',

  'surfaces.none':
    'Dieser Chat teilt sein Gespräch mit keinem anderen. {/link} gibt dir einen Code, den du in einem anderen Chat eingibst.',
  'surfaces.list': 'Dieses Gespräch teilen:',
  'surfaces.line': '- {where}, seit {since} UTC',
  'surfaces.here': '- {where}, seit {since} UTC - dieser Chat',
  'surfaces.group': '{network} (Gruppe)',
  'surfaces.private': '{network} (privater Chat)',
  'surfaces.private_with': '{network} (privater Chat mit {name})',
  'surfaces.asked': '**{name} auf {network}:** {text}',
  'surfaces.asked_files': {
    one: '**{name} auf {network}:** {text} (1 Datei)',
    other: '**{name} auf {network}:** {text} ({count} Dateien)',
  },
  'surfaces.somebody': 'Jemand',
};
