// Notices of the browser, for who has asked for them on the page of what waits. A browser shows one of each tag, however
// many pages are open.
const WANTED = "magi-notices";

export const can = "Notification" in window;

function remembered() {
  try {
    return localStorage.getItem(WANTED) === "on";
  } catch {
    return false; // storage may be forbidden
  }
}

let wanted = remembered();
export const isWanted = () => can && wanted && Notification.permission === "granted";

// called by a click and by nothing else: a browser asks back
export async function want(so) {
  wanted = so;
  if (wanted && Notification.permission === "default") await Notification.requestPermission();
  try {
    localStorage.setItem(WANTED, wanted ? "on" : "off");
  } catch {
    // storage may be forbidden; the choice then holds for this page
  }
}


export function notify(title, body, tag, address) {
  try {
    const notice = new Notification(title, { body, tag });
    notice.addEventListener("click", () => {
      focus();
      if (address !== location.pathname) location.assign(address);
    });
    return true;
  } catch {
    return false; // some telephones allow them to installed pages alone
  }
}
