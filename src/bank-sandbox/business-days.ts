/** Fixed closing days of TARGET, as month and day; Good Friday and Easter Monday move. */
const FIXED_CLOSING_DAYS = new Set(['01-01', '05-01', '12-25', '12-26']);
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Whether TARGET, and with it the exchange of euro payments between banks, is open on a calendar date. */
export function isTargetDay(date: string): boolean {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const weekday = new Date(midnight).getUTCDay();
  if (weekday === 0 || weekday === 6 || FIXED_CLOSING_DAYS.has(date.slice(5))) return false;
  const daysFromEaster = (midnight - easterSunday(Number(date.slice(0, 4)))) / DAY_MS;
  return daysFromEaster !== -2 && daysFromEaster !== 1;
}

/** The date itself when TARGET is open on it, else the next date on which it is. */
export function nextTargetDay(date: string): string {
  let day = date;
  while (!isTargetDay(day))
    day = new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
  return day;
}

/** The Gregorian computus (Meeus, Jones, Butcher). */
function easterSunday(year: number): number {
  const century = Math.floor(year / 100);
  const golden = year % 19;
  const leapCorrection = Math.floor(century / 4);
  const moonCorrection = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const epact = (19 * golden + century - leapCorrection - moonCorrection + 15) % 30;
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor((year % 100) / 4) - epact - (year % 4)) % 7;
  const lateMoon = Math.floor((golden + 11 * epact + 22 * weekday) / 451);
  const days = epact + weekday - 7 * lateMoon + 114;
  return Date.UTC(year, Math.floor(days / 31) - 1, (days % 31) + 1);
}
