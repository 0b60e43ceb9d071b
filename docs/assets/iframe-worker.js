// The site's search runs in a worker, which browsers refuse on pages that are opened from a file. This class has the
// same interface and runs the script in a hidden frame. The script looks for its name, `IFrameWorker`, in the parent.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentDocument
      // Opened and closed, because Firefox would still load an empty page over what is added to the first one.
      inside.open()
      inside.write("<!doctype html><body></body>")
      inside.close()
      this.frame.contentWindow.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.loaded = new Promise((resolve, reject) => {
        const script = inside.createElement("script")
        script.src = new URL(url, location.href).href
        script.onload = resolve
        script.onerror = () => reject(new Error(`${url} could not be loaded`))
        inside.body.append(script)
      })
    }

    postMessage(data) {
      const target = this.frame.contentWindow
      this.loaded.then(() => target.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }

  window.IFrameWorker = IFrameWorker
  window.Worker = IFrameWorker
}
